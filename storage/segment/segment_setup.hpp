// The making and ending of paged segments: who keeps caches, who has homes, and what all members do together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/task.hpp"
#include "storage/options/paged_options.hpp"

namespace coracle::internals {
class Team;
struct PagedCounts;
}  // namespace coracle::internals

namespace coracle::internals::storage {

class CacheController;
class PageCache;

/// What a member has of a segment.
struct SegmentParts {
  Team* team = nullptr;
  std::uint32_t number = 0;
  std::vector<std::uint32_t> controllers;  ///< Ranks; the first `homes` of them have homes.
  std::uint32_t homes = 0;
  std::uint32_t own = 0;                        ///< Which of the caches serves this member.
  std::shared_ptr<CacheController> controller;  ///< Of the members that keep a cache.
  std::unique_ptr<PageCache> cache;
  std::uint64_t epoch = 0;  ///< The greatest that any checkpoint was given, or was to get.
};

// As the functions of PagedSegment. Collective, but for flush, advise, counts and drop.

Task<SegmentParts> create_segment(Team& team, PagedOptions options);
Task<SegmentParts> open_segment(Team& team, PagedOptions options, std::string checkpoint);
Task<> checkpoint(SegmentParts& parts, std::string name);
Task<> close(SegmentParts& parts);
Task<> flush(SegmentParts& parts);
void advise(SegmentParts& parts, EvictionKind kind);
PagedCounts counts(const SegmentParts& parts);
/// Of what was not closed.
void drop(SegmentParts& parts) noexcept;

}  // namespace coracle::internals::storage
