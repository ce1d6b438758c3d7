// SegmentTable: the paged segments whose caches this rank keeps, by their numbers, for messages that name them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace coracle {
class Rank;
}

namespace coracle::storage {

class CacheKeeper;

/// One per rank (Rank::local).
class SegmentTable {
 public:
  explicit SegmentTable(Rank&) noexcept {}
  /// Null when this rank keeps no cache of that segment, or not any more.
  CacheKeeper* find(std::uint32_t segment) const noexcept {
    for (const auto& [number, keeper] : keepers_)
      if (number == segment) return keeper;
    return nullptr;
  }
  void add(std::uint32_t segment, CacheKeeper& keeper) { keepers_.emplace_back(segment, &keeper); }
  void remove(std::uint32_t segment) noexcept {
    std::erase_if(keepers_, [=](const auto& each) { return each.first == segment; });
  }
  /// A number that this rank has not used; the members of a team take the greatest of theirs.
  std::uint32_t unused() const noexcept { return next_; }
  void used(std::uint32_t segment) noexcept { next_ = segment + 1; }

 private:
  std::vector<std::pair<std::uint32_t, CacheKeeper*>> keepers_;
  std::uint32_t next_ = 1;
};

}  // namespace coracle::storage
