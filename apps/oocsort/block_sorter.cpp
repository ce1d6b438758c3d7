// Radix sort from the least significant byte, which is stable; bytes that are the same in all prefixes cost nothing.
#include "apps/oocsort/block_sorter.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace coracle::oocsort {

void BlockSorter::sort(std::span<std::byte> records) {
  if (records.empty()) return;
  const std::size_t count = records.size() / shape_.bytes;
  entries_.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    entries_[i] = {shape_.prefix(records.data() + i * shape_.bytes), static_cast<std::uint32_t>(i)};
  sort_by_prefix();
  if (!shape_.prefix_is_all()) sort_equal_prefixes(records.data());
  sorted_.resize(records.size());
  std::byte* target = sorted_.data();
  if (shape_.bytes == 16) {  // the common case, with a size that the compiler knows
    for (const Entry& entry : entries_) {
      std::memcpy(target, records.data() + std::size_t{entry.index} * 16, 16);
      target += 16;
    }
  } else {
    for (const Entry& entry : entries_) {
      std::memcpy(target, records.data() + entry.index * shape_.bytes, shape_.bytes);
      target += shape_.bytes;
    }
  }
  std::memcpy(records.data(), sorted_.data(), records.size());
}

void BlockSorter::sort_by_prefix() {
  std::array<std::array<std::uint32_t, 256>, 8> counts{};
  for (const Entry& entry : entries_)
    for (std::size_t digit = 0; digit < 8; ++digit) ++counts[digit][entry.prefix >> (8 * digit) & 0xff];
  other_.resize(entries_.size());
  for (std::size_t digit = 0; digit < 8; ++digit) {
    std::array<std::uint32_t, 256>& places = counts[digit];
    if (std::ranges::find(places, entries_.size()) != places.end()) continue;  // all have the same
    std::uint32_t place = 0;
    for (std::uint32_t& count : places) place += std::exchange(count, place);
    for (const Entry& entry : entries_) other_[places[entry.prefix >> (8 * digit) & 0xff]++] = entry;
    entries_.swap(other_);
  }
}

void BlockSorter::sort_equal_prefixes(const std::byte* records) {
  const auto before = [this, records](const Entry& left, const Entry& right) {
    return shape_.compare(records + left.index * shape_.bytes, records + right.index * shape_.bytes) < 0;
  };
  for (auto first = entries_.begin(); first != entries_.end();) {
    const auto last =
        std::find_if(first, entries_.end(), [first](const Entry& e) { return e.prefix != first->prefix; });
    if (last - first > 1) std::stable_sort(first, last, before);
    first = last;
  }
}

}  // namespace coracle::oocsort
