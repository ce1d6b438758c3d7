// Sorts records that fit the processor's caches, and merges sorted sources, each of which comes in pieces, by a tree of
// losers (Knuth, TAOCP 3, 5.4.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "apps/oocsort/record.hpp"

namespace coracle::oocsort {

class BlockSorter {
 public:
  explicit BlockSorter(RecordShape shape) noexcept : shape_(shape) {}

  /// In place; records with equal keys stay in their order. Takes memory of the size of `records` and 32 bytes for each
  /// of them, and keeps it. At most 2^32 - 1 records.
  void sort(std::span<std::byte> records);

 private:
  struct Entry {
    std::uint64_t prefix;
    std::uint32_t index;
  };
  void sort_by_prefix();
  void sort_equal_prefixes(const std::byte* records);

  RecordShape shape_;
  std::vector<Entry> entries_;
  std::vector<Entry> other_;
  std::vector<std::byte> sorted_;
};

/// Where a merger stopped.
struct Merged {
  std::size_t bytes = 0;             ///< That it has written.
  std::optional<std::size_t> dry{};  ///< The source that needs its next piece; nothing: the target is full, or all is.
};

/// Of records with equal keys, those of the source with the smaller number come first. Feed each source once before the
/// first merge().
class Merger {
 public:
  Merger(RecordShape shape, std::size_t sources);

  /// The next piece of a source that has none: whole records, which must stay until the source is dry again. An empty
  /// piece: the source has ended.
  void feed(std::size_t source, std::span<const std::byte> piece);
  /// Until `target`, of whole records, is full, a source is dry, or all have ended.
  Merged merge(std::span<std::byte> target);
  bool done() const noexcept { return started_ && !fed_ && ended(tree_[0]); }

 private:
  struct Head {
    std::uint64_t prefix = 0;
    const std::byte* record = nullptr;  // null: the source has ended
    const std::byte* end = nullptr;
  };
  bool ended(std::uint32_t source) const noexcept { return heads_[source].record == nullptr; }
  bool before(std::uint32_t left, std::uint32_t right) const noexcept;
  std::uint32_t build(std::uint32_t node);
  void replay(std::uint32_t source) noexcept;

  RecordShape shape_;
  std::vector<Head> heads_;           // by source
  std::vector<std::uint32_t> tree_;   // losers by node; the winner at 0. Leaf of source s: node sources + s.
  std::optional<std::uint32_t> fed_;  // its leaf must be played anew
  bool started_ = false;
};

}  // namespace coracle::oocsort
