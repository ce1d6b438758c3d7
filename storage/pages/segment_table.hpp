// SegmentTable: the paged segments whose caches this rank keeps, by their numbers, for messages that name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/job/segment.hpp"

namespace coracle::internals {
class Rank;
}

namespace coracle::internals::storage {

class CacheController;

/// One per rank (Rank::local).
class SegmentTable {
 public:
  explicit SegmentTable(Rank&) noexcept {}
  /// Null when this rank keeps no cache of that segment, or not any more.
  CacheController* find(std::uint32_t segment) const noexcept {
    for (const auto& [number, controller] : controllers_)
      if (number == segment) return controller;
    return nullptr;
  }
  void add(std::uint32_t segment, CacheController& controller) { controllers_.emplace_back(segment, &controller); }
  /// From now on peers are told that it is closed here; `own`: the number of this rank's cache in it.
  void close(std::uint32_t segment, std::uint32_t own) {
    if (own_in_closed(segment)) return;
    std::erase_if(controllers_, [=](const auto& each) { return each.first == segment; });
    closed_.emplace_back(segment, own);
  }
  /// The frames of a cache that was not closed by all: others may still write to them, so they stay until the rank
  /// ends.
  void abandon(Slab<std::byte> frames) { abandoned_.push_back(std::move(frames)); }
  /// The number of this rank's cache in a segment that is closed here.
  std::optional<std::uint32_t> own_in_closed(std::uint32_t segment) const noexcept {
    for (const auto& [number, own] : closed_)
      if (number == segment) return own;
    return std::nullopt;
  }
  /// A number that this rank has not used; the members of a team take the greatest of theirs.
  std::uint32_t unused() const noexcept { return next_; }
  void used(std::uint32_t segment) noexcept { next_ = segment + 1; }

 private:
  std::vector<std::pair<std::uint32_t, CacheController*>> controllers_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> closed_;
  std::vector<Slab<std::byte>> abandoned_;
  std::uint32_t next_ = 1;
};

}  // namespace coracle::internals::storage
