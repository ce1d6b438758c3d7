// `coracle bench mapped`: a file of which an eighth fits into memory, read by get, through a window of ordinary loads,
// and by mmap under the same limit.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/pages/mapped_ways.hpp"
#include "apps/bench/pages/pages.hpp"
#include "apps/bench/pages/reader_process.hpp"
#include "runtime/core/io.hpp"
#include "storage/mapped/userfault.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::uint64_t kMappedPages[] = {2 << 20, 1 << 20, 64 << 10, kNumberedPage};
constexpr std::uint64_t kReaders = 8;
constexpr std::uint64_t kDepth = 32;
constexpr const char* kRival = "the rival";

/// The file's size in units of the memory's.
constexpr std::uint64_t kMappedFileFactor = 8;

/// What the memory groups allow on top of the memory for pages: for the program's own. Ours has the runtime, page
/// tables, and what file, directory and cache note of each page of 4 KiB; mmap's reader is small.
constexpr std::uint64_t own_bytes_of_rank(std::uint64_t memory_bytes) noexcept {
  return (40 << 20) + kMappedFileFactor * memory_bytes / 4096 * 384;
}
constexpr std::uint64_t kOwnBytesOfReader = 4 << 20;

/// The memory groups of one job, where they can be had; this process is in the rank's.
class MappedGroups {
 public:
  MappedGroups(std::uint64_t memory_bytes, bool with_rival) {
    try {
      own_.emplace("own", memory_bytes + own_bytes_of_rank(memory_bytes));
      mmap_.emplace("mmap", memory_bytes + kOwnBytesOfReader);
      if (with_rival) rival_.emplace("rival", memory_bytes + own_bytes_of_rank(memory_bytes));
      stay_.emplace(*own_);
    } catch (const Error& error) {
      rival_.reset();
      mmap_.reset();
      own_.reset();
      reason_ = error.what();
    }
  }

  /// Folders "own", "mmap" and "rival"; "" for one that isn't there. And "none": why there are none, or "".
  nlohmann::json told() const {
    const auto folder = [](const std::optional<MemoryGroup>& group) { return group ? group->folder() : std::string(); };
    return {{"own", folder(own_)}, {"mmap", folder(mmap_)}, {"rival", folder(rival_)}, {"none", reason_}};
  }

 private:
  std::optional<MemoryGroup> own_;
  std::optional<MemoryGroup> mmap_;
  std::optional<MemoryGroup> rival_;
  std::optional<MemoryGroup::Stay> stay_;
  std::string reason_;
};

void fill_with_numbers(std::span<std::byte> pages, std::uint64_t offset) {
  fill_numbered(pages, offset / kNumberedPage);
}

/// A file for mmap with the same content as the segments.
Task<> write_plain_file(Rank& self, std::string path, std::uint64_t bytes) {
  FileDescriptor file(::open(path.c_str(), O_CREAT | O_WRONLY | O_DIRECT | O_CLOEXEC, 0644));
  if (!file) file = FileDescriptor(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  if (!file) throw_errno(errno, fmt::format("can't write {}", path));
  const HugeBuffer data(kChunk);
  for (std::uint64_t offset = 0; offset < bytes; offset += kChunk) {
    fill_with_numbers({data.data(), kChunk}, offset);
    for (std::size_t done = 0; done < kChunk;) {
      const std::size_t written =
          co_await self.loop().io().write(file.get(), data.data() + done, kChunk - done, offset + done);
      done += written;
    }
  }
  co_await self.loop().io().sync(file.get());
}

/// What was measured.
struct MappedWay {
  const char* name;
  std::uint64_t at_once;  ///< Gets, or threads.
  std::uint64_t page_bytes;
  std::optional<double> goal;  ///< How many times as fast as mmap.
  bool random = true;
  bool window = false;
};

class MappedRun {
 public:
  /// `rival`: another program that reads the file; "": none. `mmap_words`: program and arguments of mmap's reader,
  /// without the file.
  MappedRun(Bench& bench, std::uint64_t memory_bytes, std::string rival, std::vector<std::string> mmap_words)
      : bench_(bench),
        memory_bytes_(memory_bytes),
        rival_(std::move(rival)),
        mmap_words_(std::move(mmap_words)),
        folder_(bench.told.at("folder")),
        no_group_(group("none")),
        pages_(file_bytes() / kNumberedPage),
        plain_(folder_ + "/plain"),
        window_(storage::probe_userfaultfd()) {
    bench_.plan.batches = std::min(bench_.plan.batches, 9);
  }

  Task<> run() {
    if (!limited())
      fmt::print(stderr, "coracle bench mapped: {}; instead, mmap's pages are dropped before each batch\n", no_group_);
    if (!window_.available)
      fmt::print(stderr, "coracle bench mapped: no window: {}; {}\n", window_.reason, window_.remedy);
    co_await write_plain_file(bench_.self, plain_, file_bytes());
    start_mmap();
    warm_up(*mmap_, pages_);
    for (const std::uint64_t page_bytes : kMappedPages) co_await with_window(page_bytes);
    co_await random_gets();  // last: its cache is larger, and what a segment has touched stays this rank's
    mmap_.reset();
    tell_memory();
  }

 private:
  /// Folder of a memory group; "": there is none.
  std::string group(const char* name) const { return bench_.told.at("groups").at(name); }
  std::uint64_t file_bytes() const noexcept { return kMappedFileFactor * memory_bytes_; }
  bool limited() const noexcept { return no_group_.empty(); }
  std::uint64_t count(std::uint64_t full) const noexcept {
    return bench_.plan.quick ? std::min<std::uint64_t>(full, 2 * kDepth) : full;
  }
  std::uint64_t in_memory() const noexcept { return memory_bytes_ / kNumberedPage; }
  /// Beside a window: it needs little.
  std::uint64_t cache_bytes(std::uint64_t page_bytes) const noexcept {
    return std::max(memory_bytes_ / 8, 8 * page_bytes);
  }
  PagedOptions paged(std::uint64_t page_bytes, std::uint64_t cache_bytes) const {
    return paged_options(bench_, file_bytes(), page_bytes, cache_bytes);
  }

  // --- other processes ---

  void start_mmap() {
    std::vector<std::string> words = mmap_words_;
    words.push_back(plain_);
    if (!limited()) words.emplace_back(kCold);
    mmap_ = std::make_unique<ReaderProcess>(std::move(words), group("mmap"));
  }
  /// Null when there is none.
  std::unique_ptr<ReaderProcess> rival(std::uint64_t page_bytes) const {
    if (rival_.empty()) return nullptr;
    const std::vector<std::string> words{rival_, plain_, std::to_string(page_bytes), std::to_string(memory_bytes_)};
    return std::make_unique<ReaderProcess>(words, group("rival"));
  }
  std::size_t add_random(Contest& contest, ReaderProcess& reader, bool advice, std::uint64_t threads,
                         std::uint64_t pages) {
    const std::size_t contender = contest.add_plain([this, &reader, advice, threads](std::uint64_t n) {
      const LoadPlan plan{pages_, std::max<std::uint64_t>(n / threads, 1), seed_ += 100, true};
      reader.run({advice ? 1U : 0U, threads, plan});
    });
    contest.fix_count(contender, count(pages));
    return contender;
  }
  std::size_t add_in_order(Contest& contest, ReaderProcess& reader, std::uint64_t& at, std::uint64_t pages) {
    const std::size_t contender = contest.add_plain([this, &reader, &at](std::uint64_t n) {
      reader.run({0, 1, {pages_, n, std::exchange(at, (at + n) % pages_), false}});
    });
    contest.fix_count(contender, pages);
    return contender;
  }
  /// What a batch begins with must be what a long run begins with: full memory. And disks may have caches of their own:
  /// at first, everything is read once.
  void warm_up(ReaderProcess& reader, std::uint64_t pages) const {
    if (!bench_.plan.quick) reader.run({0, 1, {pages_, pages, 0, false}});
  }

  // --- the parts ---

  Task<> random_gets() {
    const PagedOptions options = paged(kNumberedPage, memory_bytes_);
    PagedSegment segment = co_await PagedSegment::open(bench_.self.world(), options);
    {
      Gets gets(segment);
      warm_up(*mmap_, in_memory() * 5 / 4);
      if (!bench_.plan.quick) co_await gets.in_order(pages_);
      Contest contest(bench_.self, bench_.plan);
      const auto many = contest.add([&](std::uint64_t n) { return gets.random(kDepth, n, seed_ += 100); });
      const auto one = contest.add([&](std::uint64_t n) { return gets.random(1, n, seed_ += 100); });
      contest.fix_count(many, count(8000));
      contest.fix_count(one, count(2000));
      const auto mmap_one = add_random(contest, *mmap_, true, 1, 2000);
      const auto mmap_many = add_random(contest, *mmap_, true, kReaders, 8000);
      const auto plain = add_random(contest, *mmap_, false, 1, 32);
      co_await contest.run();
      others_ = {{"mmap, no advice", contest.figure(plain)}};
      add({"get", kDepth, 4096, 3}, contest.figure(many), 1, contest.figure(mmap_one));
      add({"get", kDepth, 4096, 1}, contest.figure(many), kReaders, contest.figure(mmap_many));
      add({"get", 1, 4096, {}}, contest.figure(one), 1, contest.figure(mmap_one));
    }
    co_await segment.close();
  }

  /// Cache and window have the memory together.
  Task<> with_window(std::uint64_t page_bytes) {
    const PagedOptions options = paged(page_bytes, cache_bytes(page_bytes));
    PagedSegment segment = co_await written_segment(bench_.self, options, fill_with_numbers);
    {
      const std::unique_ptr<ReaderProcess> beside = rival(page_bytes);
      MappedOptions mapped;
      mapped.window_bytes = memory_bytes_ - std::min(options.cache_bytes, memory_bytes_ / 2);
      std::optional<MappedSegment> window;
      if (page_bytes == kNumberedPage && window_.available) {
        mapped.one_core = true;
        window.emplace(co_await MappedSegment::map(bench_.self, segment, mapped));
        co_await random_loads(*window, segment, "window, one core", beside.get());
        co_await window->unmap();
        mapped.one_core = false;
      }
      window.reset();
      if (window_.available) window.emplace(co_await MappedSegment::map(bench_.self, segment, mapped));
      if (page_bytes == kNumberedPage && window) co_await random_loads(*window, segment, "window", beside.get());
      co_await in_order(segment, window, beside.get());
      if (window) co_await window->unmap();
    }
    co_await segment.close();
  }

  Task<> random_loads(MappedSegment& window, PagedSegment& segment, const char* name, ReaderProcess* beside) {
    const Loads loads(window, segment, pages_);
    warm_up(*mmap_, in_memory() * 5 / 4);
    if (beside != nullptr) warm_up(*beside, in_memory() * 5 / 4);
    if (!bench_.plan.quick) co_await loads.in_order(0, in_memory());
    for (const std::uint64_t threads : {std::uint64_t{1}, kReaders}) {
      const std::uint64_t pages = threads == 1 ? 2000 : 8000;
      Contest contest(bench_.self, bench_.plan);
      const auto own = contest.add([&](std::uint64_t n) { return loads.random(threads, n, seed_ += 100); });
      contest.fix_count(own, count(pages));
      const auto mmap = add_random(contest, *mmap_, true, threads, pages);
      std::optional<std::size_t> other;
      if (beside != nullptr) other = add_random(contest, *beside, false, threads, pages);
      co_await contest.run();
      others_.clear();
      if (other) others_.push_back({kRival, contest.figure(*other)});
      MappedWay way{name, threads, 4096, {}};
      way.window = true;
      add(way, contest.figure(own), threads, contest.figure(mmap));
    }
  }

  Task<> in_order(PagedSegment& segment, std::optional<MappedSegment>& window, ReaderProcess* beside) {
    std::optional<Loads> loads;
    if (window) loads.emplace(*window, segment, pages_);
    Gets gets(segment);
    if (!bench_.plan.quick && segment.page_bytes() > kNumberedPage) co_await gets.in_order(pages_);
    Contest contest(bench_.self, bench_.plan);
    const std::uint64_t pages = bench_.plan.quick ? 2 * kChunk / kNumberedPage : in_memory();
    std::uint64_t at = pages_ / 3, mmap_at = 0, rival_at = 0;
    std::optional<std::size_t> loading, other;
    if (loads) {
      loading = contest.add([&](std::uint64_t n) { return loads->in_order(std::exchange(at, at + n), n); });
      contest.fix_count(*loading, pages);
    }
    const auto getting = contest.add([&](std::uint64_t n) { return gets.in_order(n); });
    contest.fix_count(getting, pages);
    const auto mmap = add_in_order(contest, *mmap_, mmap_at, pages);
    if (beside != nullptr) other = add_in_order(contest, *beside, rival_at, pages);
    co_await contest.run();
    others_.clear();
    if (other) others_.push_back({kRival, contest.figure(*other)});
    const Figure of_mmap = contest.figure(mmap);
    if (loading) add({"window", 1, segment.page_bytes(), 1.2, false, true}, contest.figure(*loading), 1, of_mmap);
    add({"get of 4 MiB", 1, segment.page_bytes(), {}, false}, contest.figure(getting), 1, of_mmap);
  }

  // --- the report ---

  static std::string name_of(const MappedWay& way) {
    if (!way.random) return fmt::format("{}, pages of {}", way.name, size_text(way.page_bytes));
    if (!way.window) return fmt::format("{}, {} at a time", way.name, way.at_once);
    return fmt::format("{}, {} thread{}", way.name, way.at_once, way.at_once > 1 ? "s" : "");
  }

  void add(const MappedWay& way, const Figure& figure, std::uint64_t mmap_threads, const Figure& mmap) {
    const std::string limit =
        fmt::format("mmap, {}{}, {} thread{}", way.random ? "MADV_RANDOM" : "no advice",
                    limited() ? "" : ", no limit but a cold cache", mmap_threads, mmap_threads > 1 ? "s" : "");
    Row row{name_of(way), "ns", figure, limit, mmap, static_cast<double>(kNumberedPage), {}};
    row.details = {{"part", way.random ? "random" : "sequential"},
                   {"way", way.name},
                   {"at_once", way.at_once},
                   {"page_bytes", way.page_bytes},
                   {"mmap_threads", mmap_threads},
                   {"times_mmap", mmap.median / figure.median},
                   {"limited", limited()}};
    if (way.goal) row.details["goal_times_mmap"] = *way.goal;
    if (!limited()) row.details["why_not_limited"] = no_group_;
    if (!window_.available) row.details["why_no_window"] = window_.reason;
    if (way.window)
      for (const OtherWay& other : others_)
        if (other.name == kRival) row.details["times_rival"] = other.value.median / figure.median;
    row.others = others_;
    const std::string what = way.random ? "random reads of 4 KiB" : "reads in order, each 4 KiB";
    const std::string sizes = fmt::format("{} in {} of memory", size_text(file_bytes()), size_text(memory_bytes_));
    bench_.report.add(fmt::format("Mapped: {}, {}", what, sizes), std::move(row));
  }

  /// What counted in the groups, beside what was allowed.
  void tell_memory() {
    if (!limited()) return;
    const auto add_peak = [&](const char* name, const std::string& group, std::uint64_t own_bytes) {
      const auto peak = static_cast<double>(MemoryGroup::peak(group));
      const auto limit = static_cast<double>(memory_bytes_ + own_bytes);
      Row row{name, "B", exactly(peak), "memory and what the program itself may have", exactly(limit), 0, {}};
      row.details = {{"part", "memory"}, {"own_bytes", own_bytes}};
      bench_.report.add("Mapped: memory that counted in the control groups, at most", std::move(row));
    };
    add_peak("coracle: cache, window and program", group("own"), own_bytes_of_rank(memory_bytes_));
    add_peak("mmap: page cache and program", group("mmap"), kOwnBytesOfReader);
  }

  Bench& bench_;
  std::uint64_t memory_bytes_;
  std::string rival_;
  std::vector<std::string> mmap_words_;
  std::string folder_;
  std::string no_group_;  // why there are no memory groups; empty: there are
  std::uint64_t pages_;
  std::string plain_;
  IoSupport window_;
  std::uint64_t seed_ = 1;
  std::unique_ptr<ReaderProcess> mmap_;
  std::vector<OtherWay> others_;  // of the rows that come next
};

class MappedBenchmark final : public Benchmark {
 public:
  Facts facts() const override {
    return {.name = "mapped",
            .help = "memory on SSD by gets and by ordinary loads, beside mmap in as much memory",
            .ranks = {1},
            .pinned = false,
            .reads = {"--path", "--memory-bytes, --rival"}};
  }

  void add_options(OptionGroup& command, Choices&) override {
    command.add_option("--memory-bytes", memory_, "Of memory for pages; the file that is read has 8 times as much")
        .show_default()
        .group("mapped");
    command
        .add_option("--rival", rival_,
                    "Program that reads the file in its own way, beside ours (see tests/peers/compare-windows)")
        .group("mapped");
  }
  void check(const Request&) override {
    constexpr std::uint64_t kMiB = 1 << 20;
    memory_bytes_ = whole_pages("--memory-bytes", memory_, 16 * kMiB, 16 * 1024 * kMiB);
  }

  /// Room for a cache of all the memory, or of 8 of the largest pages.
  std::uint64_t segment_bytes(const Request&) const override {
    constexpr std::uint64_t kBeside = 16 << 20;
    return kBeside + memory_bytes_ * 9 / 8;
  }
  Report measure(Jobs& jobs) override {
    Report report;
    for (const std::uint32_t size : ranks(jobs.request())) {
      const PagesFolder folder(jobs.request().choices.path);  // gone however the job ends
      const MappedGroups groups(memory_bytes_, !rival_.empty());
      JobPlan plan = jobs.request().job_of(size);
      plan.told = {{"folder", folder.path()}, {"groups", groups.told()}};
      report.merge(jobs.run(*this, plan));
    }
    return report;
  }

  Task<> run(Bench& bench) override {
    if (bench.self.size() != 1)
      throw Error(Errc::unsupported,
                  fmt::format("`coracle bench mapped` is about one rank, not {}: -n 1", bench.self.size()));
    MappedRun mapped(bench, memory_bytes_, rival_, words_of_assistant(*this));
    co_await mapped.run();
  }
  int assist(std::span<const char* const> words) override { return read_by_mmap(words); }

 private:
  std::string memory_ = "128M";
  std::string rival_;
  std::uint64_t memory_bytes_ = 0;  // what memory_ says
};

}  // namespace

std::unique_ptr<Benchmark> mapped_benchmark() {
  return std::make_unique<MappedBenchmark>();
}

}  // namespace coracle::internals::bench
