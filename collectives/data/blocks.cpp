// Blocks of sizes that differ, or that do not lie in a row.
#include "collectives/data/blocks.hpp"

#include <algorithm>
#include <utility>

namespace coracle::internals {

Blocks::Blocks(std::span<const std::size_t> counts, std::size_t element_bytes)
    : count_(static_cast<std::uint32_t>(counts.size())), offsets_(counts.size() + 1) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::size_t bytes = 0;
    const bool overflows = __builtin_mul_overflow(counts[i], element_bytes, &bytes) ||
                           __builtin_add_overflow(offsets_[i], bytes, &offsets_[i + 1]) ||
                           offsets_[i + 1] > kObjectBytesMax;
    CORACLE_ASSERT(!overflows, "the count at place {} is {}, which is more than any memory", i, counts[i]);
  }
}

Blocks Blocks::placed(std::span<const std::size_t> bytes, std::vector<std::size_t> begins) {
  CORACLE_ASSERT(bytes.size() == begins.size(), "{} sizes for {} places", bytes.size(), begins.size());
  Blocks blocks(bytes, 1);
  blocks.begins_ = std::move(begins);
  return blocks;
}

Blocks Blocks::divide(std::uint32_t count, std::size_t elements, std::size_t element_bytes) {
  std::vector<std::size_t> counts(count);
  for (std::uint32_t i = 0; i < count; ++i) counts[i] = elements / count + (i < elements % count ? 1 : 0);
  return {counts, element_bytes};
}

std::size_t Blocks::reach_of_placed() const noexcept {
  std::size_t end = 0;
  for (std::uint32_t place = 0; place < count_; ++place) end = std::max(end, begins_[place] + bytes(place));
  return end;
}

}  // namespace coracle::internals
