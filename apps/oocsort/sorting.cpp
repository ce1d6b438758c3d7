// Radix sort from the least significant byte, which is stable; bytes that are the same in all prefixes cost nothing.
// Merging takes one comparison per level and record, of prefixes as long as they differ.
#include "apps/oocsort/sorting.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/core/assert.hpp"

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

Merger::Merger(RecordShape shape, std::size_t sources) : shape_(shape), heads_(sources), tree_(sources) {
  CORACLE_ASSERT(sources > 0, "nothing to merge");
}

void Merger::feed(std::size_t source, std::span<const std::byte> piece) {
  CORACLE_ASSERT(piece.size() % shape_.bytes == 0, "{} bytes in records of {}", piece.size(), shape_.bytes);
  Head& head = heads_[source];
  head = {};
  if (!piece.empty()) head = {shape_.prefix(piece.data()), piece.data(), piece.data() + piece.size()};
  if (started_) fed_ = static_cast<std::uint32_t>(source);
}

bool Merger::before(std::uint32_t left, std::uint32_t right) const noexcept {
  const Head& one = heads_[left];
  const Head& other = heads_[right];
  if (one.record == nullptr || other.record == nullptr) return other.record == nullptr && one.record != nullptr;
  if (one.prefix != other.prefix) return one.prefix < other.prefix;
  if (!shape_.prefix_is_all()) {
    const int order = shape_.compare(one.record, other.record);
    if (order != 0) return order < 0;
  }
  return left < right;
}

std::uint32_t Merger::build(std::uint32_t node) {
  const auto sources = static_cast<std::uint32_t>(heads_.size());
  if (node >= sources) return node - sources;
  const std::uint32_t left = build(2 * node);
  const std::uint32_t right = build(2 * node + 1);
  const bool left_wins = before(left, right);
  tree_[node] = left_wins ? right : left;
  return left_wins ? left : right;
}

void Merger::replay(std::uint32_t source) noexcept {
  std::uint32_t winner = source;
  for (std::size_t node = (heads_.size() + source) / 2; node > 0; node /= 2) {
    if (before(tree_[node], winner)) std::swap(tree_[node], winner);
  }
  tree_[0] = winner;
}

Merged Merger::merge(std::span<std::byte> target) {
  if (!started_) {
    tree_[0] = heads_.size() == 1 ? 0 : build(1);
    started_ = true;
  }
  if (fed_) {
    replay(*fed_);
    fed_.reset();
  }
  Merged merged;
  while (merged.bytes < target.size()) {
    const std::uint32_t winner = tree_[0];
    Head& head = heads_[winner];
    if (head.record == nullptr) return merged;
    if (shape_.bytes == 16) {  // the common case, with a size that the compiler knows
      std::memcpy(target.data() + merged.bytes, head.record, 16);
    } else {
      std::memcpy(target.data() + merged.bytes, head.record, shape_.bytes);
    }
    merged.bytes += shape_.bytes;
    head.record += shape_.bytes;
    if (head.record == head.end) {
      merged.dry = winner;
      return merged;
    }
    head.prefix = shape_.prefix(head.record);
    replay(winner);
  }
  return merged;
}

}  // namespace coracle::oocsort
