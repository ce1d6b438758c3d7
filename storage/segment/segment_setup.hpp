// The making and ending of paged segments: who keeps caches, who has homes, and what all members do together.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"
#include "storage/options/paged_options.hpp"
#include "storage/pages/page_cache.hpp"
#include "storage/segment/home_files.hpp"

namespace coracle::internals {
class Team;
}  // namespace coracle::internals

namespace coracle::internals::storage {

/// The transfers of a segment that nobody awaits one by one.
struct ImplicitTransfers {
  std::size_t pending = 0;
  std::exception_ptr error;
  Event* none = nullptr;  ///< Awaited in nbi_done().
};

/// What a member has of a segment.
struct SegmentParts {
  SegmentParts() = default;
  SegmentParts(const SegmentParts&) = delete;
  SegmentParts& operator=(const SegmentParts&) = delete;
  /// Of what was not closed, caches are dropped.
  ~SegmentParts();

  Team* team = nullptr;
  std::uint32_t number = 0;
  std::vector<std::uint32_t> controllers;  ///< Ranks; the first `homes` of them have homes.
  std::uint32_t homes = 0;
  std::uint32_t own = 0;                        ///< Which of the caches serves this member.
  std::shared_ptr<CacheController> controller;  ///< Of the members that keep a cache.
  std::unique_ptr<PageCache> cache;
  std::uint64_t epoch = 0;  ///< The greatest that any checkpoint was given, or was to get.
  std::shared_ptr<ImplicitTransfers> implicit = std::make_shared<ImplicitTransfers>();
};

// As the functions of PagedSegment. Collective, but for flush, advise and counts.

Task<std::unique_ptr<SegmentParts>> set_up(Team& team, PagedOptions options, OpenOptions open_options);
Task<> checkpoint(SegmentParts& parts, std::string name);
Task<> close(SegmentParts& parts);
Task<> flush(SegmentParts& parts);
void advise(SegmentParts& parts, EvictionKind kind);
PagedCounts counts(const SegmentParts& parts);

}  // namespace coracle::internals::storage
