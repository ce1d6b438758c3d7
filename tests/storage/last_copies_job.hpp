// Jobs of the tests of last copies: pages whose contents tell their numbers, on modelled SSDs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

#include "collectives/collectives.hpp"
#include "storage/segment/paged_segment.hpp"
#include "tests/sim/job.hpp"

namespace coracle::internals::test {

using namespace std::chrono_literals;

inline constexpr std::uint64_t kPage = 4096;
inline constexpr std::uint64_t kFrames = 64;

inline PagedOptions options_of(std::uint64_t pages, std::uint32_t chances, std::uint64_t frames = kFrames) {
  PagedOptions options;
  options.page_bytes = kPage;
  options.bytes = pages * kPage;
  options.cache_bytes = frames * kPage;
  options.chances = chances;
  options.model = SsdModel{1e9, 1e9, 50'000};
  return options;
}

inline sim::SimJob job_of(std::uint32_t nodes, std::uint64_t seed = 1) {
  sim::SimJob job;
  job.size = job.nodes = nodes;
  job.seed = seed;
  job.segment_bytes = 8 << 20;
  return job;
}

/// What lies at the beginning of a page.
inline std::uint64_t mark_of(std::uint64_t page) {
  return page * 0x9E3779B97F4A7C15ULL + 1;
}

inline Task<> put_mark(PagedSegment& segment, std::uint64_t page) {
  const std::uint64_t mark = mark_of(page);
  co_await segment.put(page * segment.page_bytes(), std::as_bytes(std::span(&mark, 1)));
}

inline Task<> read_mark(PagedSegment& segment, std::uint64_t page) {
  std::uint64_t mark = 0;
  co_await segment.get(page * segment.page_bytes(), std::as_writable_bytes(std::span(&mark, 1)));
  EXPECT(mark == mark_of(page));
}

inline Task<> read_marks(PagedSegment& segment, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t page = first; page < end; ++page) co_await read_mark(segment, page);
}

/// By rank 0, so that the others' caches are empty.
inline Task<> fill(Rank& self, PagedSegment& segment) {
  if (self.id() == 0) {
    for (std::uint64_t page = 0; page < segment.pages(); ++page) co_await put_mark(segment, page);
    co_await segment.flush();
  }
  co_await self.world().barrier();
}

/// By all: each has a part of them then, and needs none of it any more.
inline Task<> fill_together(Rank& self, PagedSegment& segment) {
  for (std::uint64_t page = self.id(); page < segment.pages(); page += self.size()) co_await put_mark(segment, page);
  co_await segment.flush();
  co_await sleep_for(1100ms);
  co_await self.world().barrier();
}

inline Task<std::uint64_t> sum(Rank& self, std::uint64_t mine) {
  co_return co_await self.world().all_reduce(mine, std::plus<>());
}

inline Task<std::uint64_t> ssd_reads(Rank& self, PagedSegment& segment) {
  co_return co_await sum(self, segment.counts().ssd_reads);
}

inline constexpr std::uint64_t kSmall = 32;  // frames

/// Pages that only one rank uses, from page 1 on.
inline constexpr std::uint64_t kOwnPages = 128;
inline std::uint64_t own_page(const Rank& self, std::uint64_t index) {
  return 1 + self.id() * kOwnPages + index;
}

inline Task<> read_own(Rank& self, PagedSegment& segment, std::uint64_t first, std::uint64_t count) {
  co_await read_marks(segment, own_page(self, first), own_page(self, first + count));
}

}  // namespace coracle::internals::test
