// `coracle bench pages`: paged segments beside memcpy, plain io_uring, and themselves without cooperation. What is
// measured follows from the number of ranks.
#include "apps/bench/pages/pages.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>
#include <system_error>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/pages/raw_reads.hpp"
#include "apps/common/command_line.hpp"
#include "apps/common/units.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"

namespace coracle::internals::bench {

std::uint64_t whole_pages(const char* option, const std::string& word, std::uint64_t least, std::uint64_t most) {
  constexpr std::uint64_t kMiB = 1 << 20;
  constexpr std::uint64_t kLargestPage = 4 * kMiB;
  const auto bytes = parse_bytes(word);
  if (!bytes || *bytes < least || *bytes > most || *bytes % kLargestPage != 0)
    wrong(fmt::format("{} {}: must be a multiple of 4M, from {}M to {}M", option, word, least / kMiB, most / kMiB));
  return *bytes;
}

PagesFolder::PagesFolder(const std::string& parent) {
  const std::filesystem::path given = parent;
  const std::filesystem::path place = parent.empty() ? std::filesystem::temp_directory_path() : given;
  path_ = std::filesystem::absolute(place / "coracle-pages-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr)
    throw_errno(errno, fmt::format("can't make a folder for the pages in {} (see --path)", place.string()));
}

PagesFolder::~PagesFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

PageWalk::PageWalk(std::uint64_t first, std::uint64_t pages, bool random, std::uint64_t seed) : order_(pages) {
  std::iota(order_.begin(), order_.end(), first);
  if (random) std::shuffle(order_.begin(), order_.end(), std::mt19937_64(seed));
}

std::uint64_t PageWalk::next() {
  const std::uint64_t page = order_[at_];
  at_ = at_ + 1 == order_.size() ? 0 : at_ + 1;
  return page;
}

std::string path_of_segments(const Bench& bench) {
  return bench.told.at("folder").get<std::string>() + "/pages";
}

PagedOptions paged_options(const Bench& bench, std::uint64_t bytes, std::uint64_t page_bytes,
                           std::uint64_t cache_bytes) {
  PagedOptions options;
  options.path = path_of_segments(bench);
  options.bytes = bytes;
  options.page_bytes = page_bytes;
  options.cache_bytes = cache_bytes;
  options.replace = true;
  return options;
}

namespace {

Task<> get_in_turn(PagedSegment& segment, PageWalk& walk, std::span<std::byte> target, std::uint64_t& left) {
  while (left > 0) {
    --left;
    co_await segment.get(walk.next() * target.size(), target);
  }
}

Task<> write_pages(Rank& self, PagedSegment& segment, FillPages fill) {
  if (self.id() == 0) {
    const HugeBuffer data(kChunk);
    for (std::uint64_t offset = 0; offset < segment.bytes(); offset += kChunk) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, segment.bytes() - offset));
      const std::span<std::byte> part(data.data(), bytes);
      fill(part, offset);
      co_await segment.put(offset, std::span<const std::byte>(part));
    }
    co_await segment.flush();
  }
  co_await self.world().barrier();
}

}  // namespace

Task<> get_pages(PagedSegment& segment, PageWalk& walk, std::uint64_t at_once, std::uint64_t count, std::byte* target) {
  const std::uint64_t bytes = segment.page_bytes();
  if (at_once == 1) {
    co_await get_in_turn(segment, walk, {target, bytes}, count);
    co_return;
  }
  PromiseBase& own = co_await this_coroutine();
  Scope scope(own.loop(), &own.scope());
  for (std::uint64_t i = 0; i < at_once; ++i)
    scope.spawn(get_in_turn(segment, walk, {target + i * bytes, bytes}, count));
  co_await scope.join();
}

void fill_alike(std::span<std::byte> pages, std::uint64_t) {
  std::ranges::fill(pages, std::byte{0x5a});
}

Task<PagedSegment> written_segment(Rank& self, PagedOptions options, FillPages fill) {
  {
    PagedSegment segment = co_await PagedSegment::create(self.world(), options);
    co_await write_pages(self, segment, fill);
    co_await segment.close();
  }
  PagedSegment segment = co_await PagedSegment::open(self.world(), options);
  co_return segment;
}

Task<> InOrder::read(std::uint64_t bytes) {
  while (bytes > 0) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>({bytes, kChunk, segment_.bytes() - at_}));
    const std::span<std::byte> target(buffer_.data(), part);
    co_await segment_.get(at_, target);
    if (look_) look_(target, at_);
    at_ = at_ + part == segment_.bytes() ? 0 : at_ + part;
    bytes -= part;
  }
  co_await finish_reading_ahead(segment_);
}

Task<> finish_reading_ahead(PagedSegment& segment) {
  constexpr auto kPatience = std::chrono::seconds(10);
  constexpr int kTurns = 32;  // without a new request: whoever reads ahead asks for more as pages come
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t asked = 0;
  for (int turns = 0; turns < kTurns; ++turns) {
    const PagedCounts counts = segment.counts();
    if (counts.misses != asked || counts.ssd_reads < counts.misses) turns = 0;
    asked = counts.misses;
    co_await yield();
    if (std::chrono::steady_clock::now() - begin > kPatience)
      throw Error(std::make_error_code(std::errc::io_error), "pages that were read ahead have not come: see dmesg");
  }
}

nlohmann::json json_of(const PagedCounts& counts, std::uint64_t operations) {
  return {{"operations", operations},      {"hits", counts.hits},
          {"misses", counts.misses},       {"from_peers", counts.from_peers},
          {"ssd_reads", counts.ssd_reads}, {"ssd_writes", counts.ssd_writes},
          {"evictions", counts.evictions}, {"read_ahead", counts.read_ahead},
          {"offered", counts.offered},     {"handed_on", counts.handed_on},
          {"taken_in", counts.taken_in}};
}

namespace {

class PagesBenchmark final : public Benchmark {
 public:
  Facts facts() const override {
    return {.name = "pages",
            .help = "memory on SSD: cached pages, pages from the file, from other caches",
            .ranks = {1, 2, 4},
            .between_nodes = true,
            .in_sim = true,
            .reads = {"--path", "--file-bytes, --cache-bytes"}};
  }

  void add_options(OptionGroup& command, Choices& choices) override {
    command.add_option("--path", choices.path, "Folder on the SSD to measure (default: that of temporary files)")
        .group("pages");
    const auto add = [&command](const char* name, std::string& target, const char* help) {
      command.add_option(name, target, help).show_default().group("pages");
    };
    add("--file-bytes", file_bytes_, "Of the file that is read");
    add("--cache-bytes", cache_bytes_, "Of DRAM for its pages; at most half of the file");
  }
  void check(const Request&) override {
    sizes_.file_bytes = whole_pages("--file-bytes", file_bytes_, 32 * kMiB, 64 * 1024 * kMiB);
    sizes_.cache_bytes = whole_pages("--cache-bytes", cache_bytes_, 8 * kMiB, sizes_.file_bytes / 2);
  }

  std::vector<std::uint32_t> ranks(const Request& request) const override {
    if (!request.ranks.empty()) return request.ranks;
    if (request.in_sim()) return {1, 2, 4, 8, 16, 32};
    return request.nodes > 1 ? std::vector{request.nodes} : facts().ranks;
  }
  /// Room for a cache and what is beside it.
  std::uint64_t segment_bytes(const Request& request) const override {
    constexpr std::uint64_t kBeside = 16 * kMiB;
    constexpr std::uint64_t kCacheInSim = 16 * kMiB;
    constexpr std::uint64_t kLargePages = 64 * kMiB;  // 16 of the largest
    return kBeside + (request.in_sim() ? kCacheInSim : std::max(kLargePages, sizes_.cache_bytes));
  }
  Report measure(Jobs& jobs) override {
    const Request& request = jobs.request();
    Report report;
    for (const std::uint32_t size : ranks(request)) {
      JobPlan plan = request.job_of(size);
      std::optional<PagesFolder> folder;  // gone however the job ends
      if (request.in_sim())
        plan.nodes = plan.ranks;
      else
        plan.told["folder"] = folder.emplace(request.choices.path).path();
      report.merge(jobs.run(*this, plan));
    }
    return report;
  }

  Task<> run(Bench& bench) override {
    if (bench.self.placement() == Placement::sim) {
      co_await bench_page_scaling(bench);
      co_await bench_page_last_copies(bench);
    } else if (bench.self.size() == 1) {
      co_await bench_page_hits(bench);
      co_await bench_page_misses(bench, sizes_);
    } else if (bench.self.size() == 2) {
      co_await bench_page_peers(bench, sizes_);
    } else {
      co_await bench_page_cooperation(bench, sizes_);
    }
  }

 private:
  static constexpr std::uint64_t kMiB = 1 << 20;

  std::string file_bytes_ = "256M";
  std::string cache_bytes_ = "32M";
  PagesOptions sizes_;  // what these words say
};

}  // namespace

std::unique_ptr<Benchmark> pages_benchmark() {
  return std::make_unique<PagesBenchmark>();
}

}  // namespace coracle::internals::bench
