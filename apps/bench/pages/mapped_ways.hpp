// The ways of reading a file of numbered pages that `coracle bench mapped` compares: awaited gets, and ordinary loads
// through a window.
#pragma once

#include <coracle/mapped.hpp>
#include <cstdint>

#include "apps/bench/pages/numbered_pages.hpp"
#include "apps/bench/pages/raw_reads.hpp"
#include "storage/segment/paged_segment.hpp"

namespace coracle::internals::bench {

/// Of a sequential reader's gets, and of what is written at once.
inline constexpr std::size_t kMappedChunk = 4 << 20;

/// Every page that is read is checked; a wrong one throws Error.
class Gets {
 public:
  explicit Gets(PagedSegment& segment) : segment_(segment) {}
  /// `count` pages, `depth` gets at a time, at most 64.
  Task<> random(std::uint64_t depth, std::uint64_t count, std::uint64_t seed);
  /// In chunks; goes on where it was, at the end from the start.
  Task<> in_order(std::uint64_t count);

 private:
  Task<> random_one(std::uint64_t place, std::uint64_t count, std::uint64_t seed);

  PagedSegment& segment_;
  std::uint64_t at_ = 0;  // bytes
  HugeBuffer buffer_{kMappedChunk};
};

class Loads {
 public:
  Loads(MappedSegment& window, PagedSegment& segment, std::uint64_t pages) noexcept
      : window_(window), segment_(segment), pages_(pages) {}
  /// `count` pages by so many threads together.
  Task<> random(std::uint64_t threads, std::uint64_t count, std::uint64_t seed) const;
  /// From page `first` on, by one thread.
  Task<> in_order(std::uint64_t first, std::uint64_t count) const;

 private:
  Task<> load(LoadPlan plan) const;

  MappedSegment& window_;
  PagedSegment& segment_;
  std::uint64_t pages_;
};

}  // namespace coracle::internals::bench
