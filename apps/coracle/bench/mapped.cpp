// `coracle bench mapped`: a file of which an eighth fits into memory, read by get, through a window of ordinary loads,
// and by mmap under the same limit.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/mapped_options.hpp"
#include "apps/coracle/bench/mapped_ways.hpp"
#include "apps/coracle/bench/memory_group.hpp"
#include "apps/coracle/bench/mmap_reader.hpp"
#include "runtime/io.hpp"
#include "storage/userfault.hpp"

namespace coracle::bench {
namespace {

constexpr std::uint64_t kSequentialPages[] = {4096, 64 << 10, 1 << 20, 2 << 20};
constexpr std::uint64_t kReaders = 8;
constexpr std::uint64_t kDepth = 32;

/// A file for mmap with the same content as the segments.
Task<> write_plain_file(Rank& self, std::string path, std::uint64_t bytes) {
  int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_DIRECT | O_CLOEXEC, 0644);
  if (fd < 0) fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (fd < 0) throw_errno(errno, fmt::format("can't write {}", path));
  const HugeBuffer data(kMappedChunk);
  for (std::uint64_t offset = 0; offset < bytes; offset += kMappedChunk) {
    fill_numbered({data.data(), kMappedChunk}, offset / kNumberedPage);
    for (std::size_t done = 0; done < kMappedChunk;) {
      const std::size_t written =
          co_await self.loop().io().write(fd, data.data() + done, kMappedChunk - done, offset + done);
      done += written;
    }
  }
  co_await self.loop().io().sync(fd);
  ::close(fd);
}

Task<> write_segment(Rank& self, PagedOptions options) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  const HugeBuffer data(kMappedChunk);
  const std::span<const std::byte> source(data.data(), kMappedChunk);
  for (std::uint64_t offset = 0; offset < segment.bytes(); offset += kMappedChunk) {
    fill_numbered({data.data(), kMappedChunk}, offset / kNumberedPage);
    co_await segment.put(offset, source);
  }
  co_await segment.flush();
  co_await segment.close();
}

class MappedBench {
 public:
  explicit MappedBench(Bench& bench)
      : bench_(bench),
        options_(*bench.mapped),
        pages_(options_.file_bytes() / kNumberedPage),
        window_(storage::probe_userfaultfd()) {
    bench_.plan.batches = std::min(bench_.plan.batches, 9);
  }

  Task<> run() {
    if (!options_.no_group.empty())
      fmt::print(stderr, "coracle bench mapped: {}; instead, mmap's pages are dropped before each batch\n",
                 options_.no_group);
    if (!window_.available)
      fmt::print(stderr, "coracle bench mapped: no window: {}; {}\n", window_.reason, window_.remedy);
    const std::string plain = options_.path + "/plain";
    co_await write_plain_file(bench_.self, plain, options_.file_bytes());
    reader_.emplace(plain, options_.mmap_group);
    for (const std::uint64_t page_bytes : kSequentialPages) {
      co_await write_segment(bench_.self, paged(page_bytes, cache_bytes(page_bytes)));
      if (page_bytes == kNumberedPage) co_await random_gets();
      co_await mapped_segment(page_bytes);
    }
    reader_.reset();
    tell_memory();
  }

 private:
  std::uint64_t count(std::uint64_t full) const noexcept {
    return bench_.plan.quick ? std::min<std::uint64_t>(full, 2 * kDepth) : full;
  }
  /// Beside a window: it needs little.
  std::uint64_t cache_bytes(std::uint64_t page_bytes) const noexcept {
    return std::max(options_.memory_bytes / 8, 8 * page_bytes);
  }
  PagedOptions paged(std::uint64_t page_bytes, std::uint64_t cache_bytes) const {
    PagedOptions options;
    options.path = options_.path + "/pages";
    options.bytes = options_.file_bytes();
    options.page_bytes = page_bytes;
    options.cache_bytes = cache_bytes;
    options.replace = true;
    options.read_ahead_pages = static_cast<std::uint32_t>(std::clamp<std::uint64_t>((8 << 20) / page_bytes, 4, 32));
    return options;
  }
  /// What a batch of mmap begins with must be what a long run begins with: full memory.
  void warm_up_mmap() {
    if (bench_.plan.quick) return;
    reader_->run(MmapAdvice::none, 1, {pages_, options_.memory_bytes / kNumberedPage * 5 / 4, seed_++, false});
  }
  std::size_t add_mmap(Contest& contest, MmapAdvice advice, std::uint64_t threads, std::uint64_t pages) {
    const std::size_t contender = contest.add_plain([this, advice, threads](std::uint64_t n) {
      reader_->run(advice, threads, {pages_, std::max<std::uint64_t>(n / threads, 1), seed_ += 100, true});
    });
    contest.fix_count(contender, count(pages));
    return contender;
  }

  Task<> random_gets() {
    PagedSegment segment =
        co_await PagedSegment::open(bench_.self.world(), paged(kNumberedPage, options_.memory_bytes));
    {
      Gets gets(segment);
      warm_up_mmap();
      if (!bench_.plan.quick) co_await gets.in_order(options_.memory_bytes / kNumberedPage);
      Contest contest(bench_.self, bench_.plan);
      const auto many = contest.add([&](std::uint64_t n) { return gets.random(kDepth, n, seed_ += 100); });
      const auto one = contest.add([&](std::uint64_t n) { return gets.random(1, n, seed_ += 100); });
      contest.fix_count(many, count(8000));
      contest.fix_count(one, count(2000));
      const auto mmap_one = add_mmap(contest, MmapAdvice::random, 1, 2000);
      const auto mmap_many = add_mmap(contest, MmapAdvice::random, kReaders, 8000);
      const auto plain = add_mmap(contest, MmapAdvice::none, 1, 32);
      co_await contest.run();
      const OtherWay other{"mmap, no advice", contest.figure(plain)};
      add({"get", kDepth, 4096, 3}, contest.figure(many), {MmapAdvice::random, 1, contest.figure(mmap_one)}, other);
      add({"get", kDepth, 4096, 1}, contest.figure(many), {MmapAdvice::random, kReaders, contest.figure(mmap_many)},
          other);
      add({"get", 1, 4096, {}}, contest.figure(one), {MmapAdvice::random, 1, contest.figure(mmap_one)}, other);
    }
    co_await segment.close();
  }

  /// Cache and window have the memory together.
  Task<> mapped_segment(std::uint64_t page_bytes) {
    const std::uint64_t cached = cache_bytes(page_bytes);
    PagedSegment segment = co_await PagedSegment::open(bench_.self.world(), paged(page_bytes, cached));
    {
      std::optional<MappedSegment> window;
      if (window_.available) {
        MappedOptions options;
        options.window_bytes = options_.memory_bytes - std::min(cached, options_.memory_bytes / 2);
        window.emplace(co_await MappedSegment::map(bench_.self, segment, options));
      }
      if (page_bytes == kNumberedPage && window) co_await random_loads(*window);
      co_await sequential(segment, window);
      if (window) co_await window->unmap();
    }
    co_await segment.close();
  }

  Task<> random_loads(MappedSegment& window) {
    const Loads loads(window, pages_);
    warm_up_mmap();
    if (!bench_.plan.quick) co_await loads.in_order(0, options_.memory_bytes / kNumberedPage);
    Contest contest(bench_.self, bench_.plan);
    const auto one = contest.add([&](std::uint64_t n) { return loads.random(1, n, seed_ += 100); });
    const auto many = contest.add([&](std::uint64_t n) { return loads.random(kReaders, n, seed_ += 100); });
    contest.fix_count(one, count(2000));
    contest.fix_count(many, count(8000));
    const auto mmap_one = add_mmap(contest, MmapAdvice::random, 1, 2000);
    const auto mmap_many = add_mmap(contest, MmapAdvice::random, kReaders, 8000);
    const auto plain = add_mmap(contest, MmapAdvice::none, 1, 32);
    co_await contest.run();
    const OtherWay other{"mmap, no advice", contest.figure(plain)};
    add({"window", 1, 4096, {}}, contest.figure(one), {MmapAdvice::random, 1, contest.figure(mmap_one)}, other);
    add({"window", kReaders, 4096, {}}, contest.figure(many), {MmapAdvice::random, kReaders, contest.figure(mmap_many)},
        other);
  }

  Task<> sequential(PagedSegment& segment, std::optional<MappedSegment>& window) {
    std::optional<Loads> loads;
    if (window) loads.emplace(*window, pages_);
    Gets gets(segment);
    Contest contest(bench_.self, bench_.plan);
    const std::uint64_t pages =
        bench_.plan.quick ? 2 * kMappedChunk / kNumberedPage : options_.memory_bytes / kNumberedPage;
    std::uint64_t at = pages_ / 3, mmap_at = 0;
    std::optional<std::size_t> loading;
    if (loads) {
      loading = contest.add([&](std::uint64_t n) { return loads->in_order(std::exchange(at, at + n), n); });
      contest.fix_count(*loading, pages);
    }
    const auto getting = contest.add([&](std::uint64_t n) { return gets.in_order(n); });
    contest.fix_count(getting, pages);
    const auto mmap = contest.add_plain([&](std::uint64_t n) {
      reader_->run(MmapAdvice::none, 1, {pages_, n, std::exchange(mmap_at, (mmap_at + n) % pages_), false});
    });
    contest.fix_count(mmap, pages);
    co_await contest.run();
    const Rival rival{MmapAdvice::none, 1, contest.figure(mmap)};
    if (loading) add({"window", 1, segment.page_bytes(), 1.2, false}, contest.figure(*loading), rival, {});
    add({"get of 4 MiB", 1, segment.page_bytes(), {}, false}, contest.figure(getting), rival, {});
  }

  /// What was measured.
  struct Way {
    const char* name;
    std::uint64_t at_once;  ///< Gets, or threads.
    std::uint64_t page_bytes;
    std::optional<double> goal;  ///< How many times as fast as the rival.
    bool random = true;
  };
  struct Rival {
    MmapAdvice advice;
    std::uint64_t threads;
    Figure figure;
  };

  void add(const Way& way, const Figure& figure, const Rival& rival, std::optional<OtherWay> other) {
    const std::string unit = way.name == std::string_view("window") ? "thread" : "at a time";
    std::string name =
        fmt::format("{}, {} {}{}", way.name, way.at_once, unit, unit == "thread" && way.at_once > 1 ? "s" : "");
    if (!way.random) name = fmt::format("{}, pages of {}", way.name, size_text(static_cast<double>(way.page_bytes)));
    const std::string limit = fmt::format(
        "mmap, {}{}, {} thread{}", rival.advice == MmapAdvice::random ? "MADV_RANDOM" : "no advice",
        options_.no_group.empty() ? "" : ", no limit but a cold cache", rival.threads, rival.threads > 1 ? "s" : "");
    Row row{std::move(name), "ns", figure, limit, rival.figure, static_cast<double>(kNumberedPage), {}};
    row.details = {{"part", way.random ? "random" : "sequential"},
                   {"way", way.name},
                   {"at_once", way.at_once},
                   {"page_bytes", way.page_bytes},
                   {"mmap_threads", rival.threads},
                   {"times_mmap", rival.figure.median / figure.median},
                   {"limited", options_.no_group.empty()}};
    if (way.goal) row.details["goal_times_mmap"] = *way.goal;
    if (!options_.no_group.empty()) row.details["why_not_limited"] = options_.no_group;
    if (!window_.available) row.details["why_no_window"] = window_.reason;
    if (other) row.others.push_back(*other);
    const std::string what = way.random ? "random reads of 4 KiB" : "reads in order, each 4 KiB";
    bench_.report.add(
        fmt::format("Mapped: {}, {} in {} of memory", what, size_text(static_cast<double>(options_.file_bytes())),
                    size_text(static_cast<double>(options_.memory_bytes))),
        std::move(row));
  }

  /// What counted in the groups, beside what was allowed.
  void tell_memory() {
    if (!options_.no_group.empty()) return;
    const auto add_peak = [&](const char* name, const std::string& group, std::uint64_t own_bytes) {
      const auto peak = static_cast<double>(MemoryGroup::peak(group));
      const auto limit = static_cast<double>(options_.memory_bytes + own_bytes);
      Row row{name, "B", {peak, peak, peak}, "memory and what the program itself may have", {limit, limit, limit},
              0,    {}};
      row.details = {{"part", "memory"}, {"own_bytes", own_bytes}};
      bench_.report.add("Mapped: memory that counted in the control groups, at most", std::move(row));
    };
    add_peak("coracle: cache, window and program", options_.own_group, kOwnBytesOfRank);
    add_peak("mmap: page cache and program", options_.mmap_group, kOwnBytesOfReader);
  }

  Bench& bench_;
  const MappedBenchOptions& options_;
  std::uint64_t pages_;
  IoSupport window_;
  std::uint64_t seed_ = 1;
  std::optional<MmapReader> reader_;
};

}  // namespace

Task<> bench_mapped(Bench& bench) {
  if (bench.self.size() != 1)
    throw Error(Errc::unsupported,
                fmt::format("`coracle bench mapped` is about one rank, not {}: -n 1", bench.self.size()));
  MappedBench mapped(bench);
  co_await mapped.run();
}

}  // namespace coracle::bench
