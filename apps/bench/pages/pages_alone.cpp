// One rank by itself: gets and puts of pages that are cached, beside a memcpy of as many bytes; and pages that come
// from the file, beside plain reads of the same file by io_uring and O_DIRECT.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "apps/bench/measure/batches.hpp"
#include "apps/bench/pages/pages.hpp"
#include "apps/bench/pages/raw_reads.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::size_t kHitPage = 64 * 1024;
constexpr std::size_t kHitSizes[] = {8, 64, 4096, kHitPage};

class Hits {
 public:
  Hits(Bench& bench, PagedSegment& segment) : bench_(bench), segment_(segment) {}

  Task<> measure(bool writing, std::size_t bytes) {
    Contest contest(bench_.self, bench_.plan);
    const std::span<std::byte> own(own_.data(), bytes);
    const auto ours =
        contest.add(writing ? repeated([=, this] { return segment_.put(0, std::span<const std::byte>(own)); })
                            : repeated([=, this] { return segment_.get(0, own); }));
    const auto limit =
        contest.add_plain(plainly([=, this] { std::memcpy(own.data(), beside_.data(), opaque(bytes)); }));
    co_await contest.run();
    const char* verb = writing ? "put" : "get";
    const std::string size = size_text(bytes);
    Row row = contest.row(fmt::format("{}, {}", verb, size), ours, "memcpy, one core", limit, bytes);
    row.details = {{"part", "hits"}, {"verb", verb}, {"bytes", bytes}};
    bench_.report.add("Pages: cached ones of 64 KiB", std::move(row));
    Row above{fmt::format("{}, {}: above memcpy", verb, size), "ns", contest.difference(ours, limit), "", {}, 0, {}};
    above.details = {{"part", "above memcpy"}, {"verb", verb}, {"bytes", bytes}};
    bench_.report.add("Pages: time of hits above memcpy; goal: 100 ns", std::move(above));
  }

 private:
  Bench& bench_;
  PagedSegment& segment_;
  HugeBuffer own_{kHitPage};
  HugeBuffer beside_{kHitPage};
};

}  // namespace

Task<> bench_page_hits(Bench& bench) {
  constexpr std::uint64_t kBytes = 16 * kHitPage;
  const PagedOptions options = paged_options(bench, kBytes, kHitPage, 2 * kBytes);
  PagedSegment segment = co_await written_segment(bench.self, options);
  {
    Hits hits(bench, segment);
    for (const bool writing : {false, true})
      for (const std::size_t bytes : kHitSizes) co_await hits.measure(writing, bytes);
  }
  co_await segment.close();
}

namespace {

constexpr std::uint64_t kSmallPage = 4096;
constexpr std::uint64_t kMissPages[] = {kSmallPage, 64 << 10, 1 << 20, 4 << 20};
constexpr std::uint64_t kDepthMax = 32;
constexpr std::uint64_t kDepths[] = {1, 8, kDepthMax};

/// As many reads as are worth having under way.
unsigned misses_at_once(std::uint64_t page_bytes) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>((8 << 20) / page_bytes, 4, 32));
}

/// One file of pages of one size, which this rank alone reads.
class Misses {
 public:
  Misses(Bench& bench, PagedSegment& segment)
      : bench_(bench), segment_(segment), file_(path_of_segments(bench) + ".0"), page_bytes_(segment.page_bytes()) {}

  Task<> random(std::uint64_t depth) {
    PageWalk walk(0, segment_.pages(), true);
    PageWalk raw_walk = plain_walk(true);
    RawReads raw(file_, page_bytes_, static_cast<unsigned>(depth));
    Contest contest(bench_.self, many_batches());
    const std::uint64_t count = bench_.plan.quick ? 2 * depth : 128 * std::min<std::uint64_t>(4 + depth, 32);
    contest.fix_count(contest.add([&](std::uint64_t n) { return get_pages(segment_, walk, depth, n, own_.data()); }),
                      count);
    contest.fix_count(contest.add_plain([&](std::uint64_t n) { raw.read(n, [&] { return raw_walk.next(); }); }), count);
    const PagedCounts before = segment_.counts();
    co_await contest.run();
    add("Pages: random misses of 4 KiB", fmt::format("get, {} at a time", depth), contest, 0, 1, before, depth);
  }

  Task<> sequential() {
    PageWalk walk(0, segment_.pages(), false);
    for (std::uint64_t i = 0; i < segment_.pages() / 2; ++i) walk.next();  // so that neither finds what the other read
    PageWalk raw_walk = plain_walk(false);
    const unsigned depth = misses_at_once(page_bytes_);
    RawReads raw(file_, page_bytes_, depth);
    const std::uint64_t count = std::max<std::uint64_t>(kChunk / page_bytes_, batch_bytes() / page_bytes_);
    const std::string size = size_text(page_bytes_);
    // One after the other: each would throw out what the other has read ahead.
    for (const bool by_get : {true, false}) {
      Contest contest(bench_.self, many_batches());
      contest.fix_count(
          contest.add([&](std::uint64_t n) { return by_get ? in_order_.read(n * page_bytes_) : pin_on(walk, n); }),
          count);
      contest.fix_count(contest.add_plain([&](std::uint64_t n) { raw.read(n, [&] { return raw_walk.next(); }); }),
                        count);
      const PagedCounts before = segment_.counts();
      co_await contest.run();
      add("Pages: sequential misses, each page", fmt::format("{}, pages of {}", by_get ? "get of 4 MiB" : "pin", size),
          contest, 0, 1, before, depth);
    }
  }

 private:
  std::uint64_t batch_bytes() const noexcept {
    if (bench_.plan.quick) return kChunk;
    return page_bytes_ == kSmallPage ? 4 * kChunk : 32 * kChunk;
  }
  /// Disks change their mood more than processors do.
  Plan many_batches() const noexcept {
    Plan plan = bench_.plan;
    if (!plan.quick) plan.batches *= 2;
    return plan;
  }
  /// Not the file's head, which has holes.
  PageWalk plain_walk(bool random) const {
    const std::uint64_t pages = segment_.pages();
    const std::uint64_t first = std::max<std::uint64_t>(pages / 32, 1);
    return {first, pages - first, random, 2};
  }

  Task<> pin_on(PageWalk& walk, std::uint64_t count) {
    for (; count > 0; --count) {
      const PinnedPage page = co_await segment_.pin(walk.next());
      static_cast<void>(opaque(page.bytes().data()));
    }
    co_await finish_reading_ahead(segment_);
  }

  void add(const char* title, std::string name, const Contest& contest, std::size_t ours, std::size_t limit,
           const PagedCounts& before, std::uint64_t depth) {
    Row row =
        contest.row(std::move(name), ours, fmt::format("io_uring, O_DIRECT, depth {}", depth), limit, page_bytes_);
    row.details = {{"part", "misses"},
                   {"page_bytes", page_bytes_},
                   {"depth", depth},
                   {"of_limit", contest.ratio(limit, ours).median},
                   {"counts", json_of(since(before, segment_.counts()), 0)}};
    Row part{row.name, "%", scaled(contest.ratio(limit, ours), 100), "", {}, 0, {}};
    part.details = {{"part", "of the limit"}, {"page_bytes", page_bytes_}, {"depth", depth}};
    bench_.report.add(title, std::move(row));
    bench_.report.add(
        "Pages: rate of these misses, of that of plain reads right after; goals: 90 % at random, 95 % of 4 MiB",
        std::move(part));
  }

  Bench& bench_;
  PagedSegment& segment_;
  std::string file_;
  std::uint64_t page_bytes_;
  InOrder in_order_{segment_};
  HugeBuffer own_{kDepthMax * kSmallPage};
};

}  // namespace

Task<> bench_page_misses(Bench& bench, const PagesOptions& sizes) {
  for (const std::uint64_t page_bytes : kMissPages) {
    // Half of a cache is read ahead at most; there must be some pages in it. And the file must not fit.
    const std::uint64_t cache_bytes =
        std::min(std::max<std::uint64_t>(sizes.cache_bytes, 16 * page_bytes), sizes.file_bytes / 2);
    PagedOptions options = paged_options(bench, sizes.file_bytes, page_bytes, cache_bytes);
    options.eviction = storage::EvictionKind::lru;  // arc would find a part of a file that is read again and again
    PagedSegment segment = co_await written_segment(bench.self, options);
    {
      Misses misses(bench, segment);
      if (page_bytes == kSmallPage)
        for (const std::uint64_t depth : kDepths) co_await misses.random(depth);
      co_await misses.sequential();
    }
    co_await segment.close();
  }
}

}  // namespace coracle::internals::bench
