#include "transports/cuda/reach.hpp"

#include <iterator>
#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::internals::cuda {

void Reach::add_host(std::span<std::byte> memory) {
  ranges_[memory.data()] = {memory.size(), {MemoryKind::host, -1}, true, false, {}};
}

void Reach::add(std::span<std::byte> memory, int device) {
  ranges_[memory.data()] = {memory.size(), {MemoryKind::device, device}, false, false, {}};
}

void Reach::abandon() noexcept {
  for (auto& [begin, range] : ranges_) range.registration.abandon();
}

void Reach::pin(const std::byte* begin, Range& range) noexcept {
  range.waits = false;
  try {
    range.registration = register_host(api_, {const_cast<std::byte*>(begin), range.bytes});
  } catch (const Error& error) {
    range.refused = true;
    refusal_ = error.what();
  }
}

MemoryLocation Reach::location_of(const std::byte* begin, std::size_t bytes) noexcept {
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin()) {
    at = std::prev(at);
    Range& range = at->second;
    const auto offset = static_cast<std::size_t>(begin - at->first);
    if (offset < range.bytes) {
      if (bytes > range.bytes - offset) return {};
      if (range.waits) pin(at->first, range);
      return range.refused ? MemoryLocation{} : range.location;
    }
  }
  // Memory that others have allocated or registered; both ends, since the driver tells only of single addresses.
  PointerInfo first;
  PointerInfo last;
  if (api_.pointer_info(begin, first) != kSuccess || api_.pointer_info(begin + bytes - 1, last) != kSuccess) return {};
  if (first.kind != last.kind || (first.kind == MemoryKind::device && first.device != last.device)) return {};
  return {first.kind, first.kind == MemoryKind::device ? first.device : -1};
}

}  // namespace coracle::internals::cuda
