#include "runtime/core/wire.hpp"

namespace coracle::internals {

void WireWriter::write_bytes(const void* data, std::size_t bytes) {
  const auto* start = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), start, start + bytes);
}

}  // namespace coracle::internals
