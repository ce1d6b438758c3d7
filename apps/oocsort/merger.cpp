// One comparison per level and record, of prefixes as long as they differ.
#include "apps/oocsort/merger.hpp"

#include <cstring>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::oocsort {

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
