// What of writing and reading is the same for all types.
#include "runtime/core/wire.hpp"

#include <cstring>

#include "runtime/core/error.hpp"

namespace coracle::internals {

void WireWriter::write_bytes(const void* data, std::size_t bytes) {
  const auto* start = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), start, start + bytes);
}

void WireReader::read_bytes(void* target, std::size_t bytes) {
  if (bytes > rest_.size()) throw_short();
  if (bytes > 0) std::memcpy(target, rest_.data(), bytes);
  rest_ = rest_.subspan(bytes);
}

void WireReader::throw_short() {
  throw Error(Errc::bad_input, "a call's message is shorter than its contents");
}

}  // namespace coracle::internals
