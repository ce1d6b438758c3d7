// Pages that another cache has, beside pages that only the file has (the paper's figure 4); and how much less is read
// from the file when several read the same.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "apps/bench/pages/pages.hpp"
#include "apps/bench/pages/raw_reads.hpp"
#include "collectives/collectives.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::uint64_t kPeerPages[] = {4096, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
constexpr std::uint64_t kAtOnceMax = 32;
constexpr std::uint32_t kReader = 0;  // and home of all pages
constexpr std::uint32_t kPeer = 1;

/// As many reads as are worth having under way.
std::uint64_t depth_of(std::uint64_t page_bytes) {
  return std::clamp<std::uint64_t>((8 << 20) / page_bytes, 2, kAtOnceMax);
}

std::string where(const Rank& self) {
  return fmt::format("{} ranks on {} node{}, {}, a cache each", self.size(), self.nodes(), self.nodes() == 1 ? "" : "s",
                     to_string(self.placement()));
}

/// Pages of one size. Some are kept in the peer's cache. Reading many of the others, which only the file has, drops
/// those from the reader's, so that they can be read from the peer again.
class Peers {
 public:
  Peers(Bench& bench, PagedSegment& segment, std::uint64_t frames)
      : bench_(bench),
        segment_(segment),
        frames_(frames),
        kept_(0, frames / 2, false),
        others_(frames / 2, segment.pages() - frames / 2, false),
        buffer_(depth_of(segment.page_bytes()) * segment.page_bytes()) {}

  Task<> run() {
    const int rounds = bench_.plan.quick ? 2 : 12;
    for (int round = -1; round < rounds; ++round) {  // the first warms up
      for (const std::uint64_t at_once : {std::uint64_t{1}, depth()}) {
        if (bench_.self.id() == kPeer) co_await read(kept_, 1, kept_pages());
        co_await bench_.self.world().barrier();
        if (bench_.self.id() == kReader) co_await time_both(at_once, round >= 0);
        co_await bench_.self.world().barrier();
      }
    }
    if (!bench_.keeps_time()) co_return;
    add("one at a time", 0, 1);
    add(fmt::format("{} at a time", depth()), 1, depth());
  }

 private:
  struct Samples {
    std::vector<double> peer;
    std::vector<double> file;
    PagedCounts of_peer;
    PagedCounts of_file;
  };

  std::uint64_t depth() const noexcept { return depth_of(segment_.page_bytes()); }
  std::uint64_t kept_pages() const noexcept { return frames_ / 2; }
  std::uint64_t other_pages() const noexcept { return frames_ + frames_ / 2; }  // read in between

  Task<> time_both(std::uint64_t at_once, bool counts) {
    Samples& samples = samples_[at_once == 1 ? 0 : 1];
    const PagedCounts before = segment_.counts();
    const double begun = now_ns();
    co_await read(kept_, at_once, kept_pages());
    const double between = now_ns();
    const PagedCounts at_half = segment_.counts();
    co_await read(others_, at_once, other_pages());
    const double ended = now_ns();
    if (!counts) co_return;
    samples.peer.push_back((between - begun) / static_cast<double>(kept_pages()));
    samples.file.push_back((ended - between) / static_cast<double>(other_pages()));
    samples.of_peer = since(before, at_half);
    samples.of_file = since(at_half, segment_.counts());
  }

  Task<> read(PageWalk& walk, std::uint64_t at_once, std::uint64_t count) {
    return get_pages(segment_, walk, at_once, count, buffer_.data());
  }

  void add(const std::string& how, std::size_t which, std::uint64_t at_once) {
    const Samples& samples = samples_[which];
    const std::uint64_t bytes = segment_.page_bytes();
    Row row{fmt::format("pages of {}, {}", size_text(bytes), how),
            "ns",
            figure_of(samples.peer),
            "a miss read from the file",
            figure_of(samples.file),
            static_cast<double>(bytes),
            {}};
    row.details = {{"part", "peers"},
                   {"page_bytes", bytes},
                   {"at_once", at_once},
                   {"nodes", bench_.self.nodes()},
                   {"faster", row.limit.median / row.value.median},
                   {"peer", json_of(samples.of_peer, kept_pages())},
                   {"file", json_of(samples.of_file, other_pages())}};
    bench_.report.add("Pages: a miss served by the other's cache; " + where(bench_.self), std::move(row));
  }

  Bench& bench_;
  PagedSegment& segment_;
  std::uint64_t frames_;
  PageWalk kept_;
  PageWalk others_;
  Samples samples_[2];
  HugeBuffer buffer_;
};

/// All read the same, each from another place on.
Task<> read_all(Rank& self, PagedSegment& segment) {
  const HugeBuffer page(segment.page_bytes());
  PageWalk walk(0, segment.pages(), false);
  for (std::uint64_t i = 0; i < segment.pages() * self.id() / self.size(); ++i) walk.next();
  co_await get_pages(segment, walk, 1, segment.pages(), page.data());
}

struct Reading {
  PagedCounts counts;
  double ns = 0;
};

Task<Reading> read_together(Bench& bench, std::uint64_t bytes, std::uint64_t cache_bytes, bool cooperative) {
  Rank& self = bench.self;
  constexpr std::uint64_t kPageBytes = 64 << 10;
  PagedOptions options = paged_options(bench, bytes, kPageBytes, cache_bytes);
  options.cache_per_rank = true;
  options.cooperative = cooperative;
  options.read_ahead_pages = 0;
  PagedSegment segment = co_await written_segment(self, options);
  segment.advise(storage::EvictionKind::lru);
  const PagedCounts before = segment.counts();
  co_await self.world().barrier();
  const double begun = now_ns();
  co_await read_all(self, segment);
  co_await self.world().barrier();
  Reading reading;
  reading.ns = now_ns() - begun;
  reading.counts = co_await sum_of(self.world(), since(before, segment.counts()));
  co_await segment.close();
  co_return reading;
}

}  // namespace

Task<> bench_page_peers(Bench& bench, const PagesOptions& sizes) {
  for (const std::uint64_t page_bytes : kPeerPages) {
    if (bench.plan.quick && page_bytes > 256 << 10) break;
    // Enough of them to be measured, and no more: all is read many times over.
    const std::uint64_t most = bench.plan.quick ? 8 : 512;
    const std::uint64_t frames = std::clamp<std::uint64_t>(sizes.cache_bytes / page_bytes, 8, most);
    PagedOptions options = paged_options(bench, 4 * frames * page_bytes, page_bytes, frames * page_bytes);
    options.cache_per_rank = true;
    options.spread = HomeSpread::one;
    options.read_ahead_pages = 0;
    options.eviction = storage::EvictionKind::lru;
    PagedSegment segment = co_await written_segment(bench.self, options);
    {
      Peers peers(bench, segment, frames);
      co_await peers.run();
    }
    co_await segment.close();
  }
}

Task<> bench_page_cooperation(Bench& bench, const PagesOptions& sizes) {
  const std::uint64_t cache_bytes = bench.plan.quick ? 2 << 20 : sizes.cache_bytes;
  for (const std::uint64_t caches : {std::uint64_t{1}, std::uint64_t{2}}) {
    const std::uint64_t bytes = caches * cache_bytes;
    const Reading alone = co_await read_together(bench, bytes, cache_bytes, false);
    const Reading together = co_await read_together(bench, bytes, cache_bytes, true);
    if (!bench.keeps_time()) continue;
    const std::uint64_t gets = bytes / (64 << 10) * bench.self.size();
    const std::string name = fmt::format("{} of data, caches of {}", size_text(bytes), size_text(cache_bytes));
    const auto reads = [](const Reading& reading) { return exactly(static_cast<double>(reading.counts.ssd_reads)); };
    Row row{name, "reads", reads(together), "without cooperation", reads(alone), 0, {}};
    row.details = {{"part", "cooperation"},
                   {"data_per_cache", caches},
                   {"with", json_of(together.counts, gets)},
                   {"without", json_of(alone.counts, gets)}};
    const std::string title = "all read the same, pages of 64 KiB; " + where(bench.self);
    bench.report.add("Pages: reads of the files when " + title, std::move(row));
    bench.report.add("Pages: time when " + title,
                     {name, "ns", exactly(together.ns), "without cooperation", exactly(alone.ns), 0, {}});
  }
}

}  // namespace coracle::internals::bench
