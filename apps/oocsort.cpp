// External sort: a file larger than memory becomes sorted runs in a paged segment, and these are merged by all ranks.
// apps/oocsort/runs.cpp has the two halves.
#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/file.hpp"
#include "apps/common/out_of_core.hpp"
#include "apps/common/program.hpp"
#include "apps/oocsort/plan.hpp"
#include "apps/oocsort/record.hpp"
#include "apps/oocsort/runs.hpp"
#include "apps/oocsort/user_interface.hpp"

namespace coracle::oocsort {
namespace {

std::string part_name(const std::string& path, std::uint64_t number) {
  return fmt::format("{}.part-{}", path, number);
}

/// A file that all ranks write together, and that has its name only when it is whole.
class NewFile {
 public:
  /// Takes the space for `bytes` under a name of its own in the folder of `path`. An existing `path` is refused unless
  /// `replace`, and stays until the end. Collective; fails at all members together (Agreed).
  static Task<NewFile> make(Team& team, std::string path, std::uint64_t bytes, bool replace) {
    NewFile made(std::move(path));
    Task<> creating = team.index() == 0 ? made.create(bytes, replace) : no_work();
    co_await agree_on(team, std::move(creating));
    co_await agree_on(team, made.open(team));
    co_return made;
  }
  NewFile(NewFile&& other) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  /// Removes what has not become whole.
  ~NewFile() {
    if (unfinished_) ::unlink(unfinished_->c_str());
  }

  const File& file() const noexcept { return *file_; }
  /// All has been written, by everybody. Collective.
  Task<> complete(Team& team) { co_await agree_on(team, rename()); }

 private:
  explicit NewFile(std::string path) noexcept : path_(std::move(path)) {}
  Task<> create(std::uint64_t bytes, bool replace) {
    if (!replace && ::access(path_.c_str(), F_OK) == 0)
      throw Error(std::make_error_code(std::errc::file_exists),
                  fmt::format("{} exists already; choose another name, or replace it by --force", path_));
    const std::string name = part_name(path_, static_cast<std::uint64_t>(::getpid()));
    file_ = std::make_unique<File>(File::create(name, false));
    unfinished_ = name;
    file_->reserve(bytes);
    co_return;
  }
  Task<> open(Team& team) {
    auto number = static_cast<std::uint64_t>(::getpid());
    co_await team.broadcast(std::span(&number, 1), 0);
    if (!file_) file_ = std::make_unique<File>(File::open_to_write(part_name(path_, number)));
  }
  Task<> rename() {
    if (!unfinished_) co_return;
    if (std::rename(unfinished_->c_str(), path_.c_str()) != 0)
      throw_errno(errno, fmt::format("can't rename {} to {}", *unfinished_, path_));
    unfinished_.reset();
    co_return;
  }

  std::string path_;
  std::optional<std::string> unfinished_;  // at the member that made it, until it has its name
  std::unique_ptr<File> file_;
};

/// The records from `next` to `end`, in two halves of a buffer whose first record is the one before each half's.
struct Reading {
  const Plan& plan;
  const File& file;
  Io& io;
  std::uint64_t next;
  std::uint64_t end;
  std::uint64_t piece;  // records
  std::vector<std::byte> halves[2]{};
};

Task<> read_piece(Reading& reading, std::size_t half, std::uint64_t first) {
  const std::uint64_t count = std::min(reading.piece, reading.end - first);
  std::vector<std::byte>& buffer = reading.halves[half];
  // With the record before them, so that pieces are compared with each other, too.
  const std::uint64_t from = first > 0 ? first - 1 : 0;
  buffer.resize((first + count - from) * reading.plan.shape.bytes);
  co_await read_fully(reading.io, reading.file, from * reading.plan.shape.bytes, buffer.data(), buffer.size());
}

void check_piece(const Reading& reading, std::span<const std::byte> records, std::uint64_t first) {
  const RecordShape& shape = reading.plan.shape;
  for (std::size_t at = shape.bytes; at < records.size(); at += shape.bytes) {
    if (shape.compare(records.data() + at - shape.bytes, records.data() + at) <= 0) continue;
    throw Error(std::make_error_code(std::errc::state_not_recoverable),
                fmt::format("{}: record {} comes before its predecessor: a mistake in oocsort or below, or a changed "
                            "file; sort anew, with another --place and with one rank, to see where",
                            reading.file.path(), first + at / shape.bytes));
  }
}

Task<> check_all(Scope& scope, Reading& reading, std::uint64_t& sum) {
  const std::size_t bytes = reading.plan.shape.bytes;
  std::size_t half = 0;
  std::unique_ptr<Started<>> coming;
  if (reading.next < reading.end)
    coming = std::make_unique<Started<>>(start(scope, read_piece(reading, half, reading.next)));
  while (reading.next < reading.end) {
    const std::uint64_t first = reading.next;
    co_await coming->done();
    coming.reset();
    reading.next = std::min(first + reading.piece, reading.end);
    if (reading.next < reading.end)
      coming = std::make_unique<Started<>>(start(scope, read_piece(reading, 1 - half, reading.next)));
    const std::span<const std::byte> records(reading.halves[half]);
    check_piece(reading, records, first > 0 ? first - 1 : 0);
    sum += checksum(first > 0 ? records.subspan(bytes) : records, bytes);
    half = 1 - half;
    co_await yield();
  }
}

/// Reads this rank's part of `file` and compares each record with the one before it. Gives the records' checksum.
/// Throws Error where a record comes before its predecessor.
Task<std::uint64_t> check_order(Rank& self, const Plan& plan, const File& file, std::uint64_t memory) {
  constexpr std::uint64_t kPieceMax = 4 << 20;
  const std::uint64_t piece = std::max<std::uint64_t>(1, std::min(kPieceMax, memory / 8) / plan.shape.bytes);
  Reading reading{plan, file, self.loop().io(), plan.first_of(self.id()), plan.first_of(self.id() + 1), piece};
  std::uint64_t sum = 0;
  co_await with_scope(check_all, std::ref(reading), std::ref(sum));
  co_return sum;
}

/// Every step ends at all ranks together: well, or by Agreed.
class Sort {
 public:
  Sort(Rank& self, const Options& options)
      : self_(self), options_(options), progress_(!options.quiet && self.id() == 0) {}
  /// Collective, once.
  Task<Report> run() {
    Team& world = self_.world();
    co_await agree_on(world, open_input());
    NewFile output = co_await NewFile::make(world, options_.output, plan_.records * plan_.shape.bytes, options_.force);
    if (plan_.records > 0) co_await sort_through_segment(output.file());
    progress_.clear();
    if (options_.verify) co_await verify(output.file());
    co_await output.complete(world);
    co_return co_await report();
  }

 private:
  Task<> open_input() {
    input_ = std::make_unique<File>(File::open(options_.input));
    const std::uint64_t bytes = input_->bytes();
    if (bytes % options_.shape.bytes != 0)
      throw Error(Errc::bad_input,
                  fmt::format("{} has {} bytes, which is no multiple of {}; give the records' size by --record, or get "
                              "the whole file",
                              options_.input, bytes, options_.shape.bytes));
    plan_ = make_plan(options_.shape, bytes / options_.shape.bytes, self_.size(), options_.memory, options_.page_bytes);
    co_return;
  }
  Task<> sort_through_segment(const File& output) {
    std::uint64_t began_ns = self_.loop().exact_now_ns();
    const ScratchFolder folder = co_await ScratchFolder::make(self_.world(), options_.scratch);
    std::unique_ptr<PagedSegment> segment;
    co_await agree_on(self_.world(), make_segment(folder, segment));
    folder.forget_files();
    const Samples samples = co_await make_runs(*segment);
    report_.making_s = lap(self_, began_ns);
    co_await merge(*segment, samples, output);
    co_await agree_on(self_.world(), segment->close());
    report_.merging_s = lap(self_, began_ns);
  }
  Task<> make_segment(const ScratchFolder& folder, std::unique_ptr<PagedSegment>& segment) {
    PagedOptions paged;
    paged.path = folder.file("runs");
    paged.bytes = plan_.region_bytes * plan_.ranks;
    paged.page_bytes = plan_.page_bytes;
    paged.cache_bytes = plan_.cache_bytes;
    paged.cache_per_rank = true;  // no page is wanted by two
    paged.spread = HomeSpread::block;
    paged.read_ahead_pages = 0;  // every run's next piece is asked for while the one before is merged
    segment = std::make_unique<PagedSegment>(co_await PagedSegment::create(self_.world(), std::move(paged)));
  }
  Task<Samples> make_runs(PagedSegment& segment) {
    RunMaker maker(self_, plan_, *input_, segment, [this](std::uint64_t records) { advance(records); });
    co_await agree_on(self_.world(), maker.make_runs(options_.verify));
    input_checksum_ = maker.input_checksum();
    const std::vector<std::byte> mine = maker.take_samples();
    const std::vector<std::uint64_t> bytes = co_await self_.world().gather_all(std::uint64_t{mine.size()});
    std::uint64_t all_bytes = 0;
    for (const std::uint64_t of_one : bytes) all_bytes += of_one;
    const std::vector<std::size_t> counts(bytes.begin(), bytes.end());
    std::vector<std::byte> all(all_bytes);
    co_await self_.world().gather_all_v(std::span(mine), std::span(all), counts);
    co_return Samples(plan_, std::move(all));
  }
  Task<> merge(PagedSegment& segment, const Samples& samples, const File& output) {
    const std::size_t runs = plan_.runs.size();
    // Where each rank's part begins in each run; behind the last: the ends of all.
    std::vector<std::uint64_t> mine(runs);
    std::vector<std::uint64_t> places(runs * self_.size());
    co_await agree_on(self_.world(), find_places(segment, samples, mine));
    co_await self_.world().gather_all(std::span<const std::uint64_t>(mine), std::span(places));
    for (const Run& run : plan_.runs) places.push_back(run.records);
    const auto begins = std::span(places).subspan(runs * self_.id(), runs);
    const auto ends = std::span(places).subspan(runs * (self_.id() + 1), runs);
    std::uint64_t first = 0;
    for (const std::uint64_t place : begins) first += place;
    RunMerger merger(self_, plan_, segment, begins, ends, output, [this](std::uint64_t records) { advance(records); });
    co_await agree_on(self_.world(), merger.merge(first));
    counts_ = segment.counts();
  }
  Task<> find_places(PagedSegment& segment, const Samples& samples, std::vector<std::uint64_t>& places) {
    if (self_.id() == 0) co_return;  // it begins with all runs
    Splitter splitter = samples.splitter(self_.id(), self_.size());
    places = co_await places_of(plan_, segment, samples, std::move(splitter));
  }
  Task<> verify(const File& output) {
    std::uint64_t began_ns = self_.loop().exact_now_ns();
    std::uint64_t output_checksum = 0;
    co_await agree_on(self_.world(), check_output(output, output_checksum));
    std::vector<std::uint64_t> sums = {input_checksum_, output_checksum};
    co_await self_.world().all_reduce(sums, std::plus<>{});
    co_await agree_on(self_.world(), compare(sums[0], sums[1]));
    report_.verifying_s = lap(self_, began_ns);
    report_.checksum = sums[1];
  }
  Task<> check_output(const File& output, std::uint64_t& sum) {
    const std::uint64_t expected = plan_.records * plan_.shape.bytes;
    if (output.bytes() != expected)
      throw Error(std::make_error_code(std::errc::state_not_recoverable),
                  fmt::format("{} has {} bytes instead of {}; sort anew, and see whether its file system is sound",
                              output.path(), output.bytes(), expected));
    sum = co_await check_order(self_, plan_, output, options_.memory);
  }
  Task<> compare(std::uint64_t input, std::uint64_t output) {
    if (input != output)
      throw Error(std::make_error_code(std::errc::state_not_recoverable),
                  fmt::format("the output's records (checksum {:016x}) are not the input's ({:016x}): a mistake in "
                              "oocsort or below, or an input that changed meanwhile; sort anew, with another --place "
                              "and with one rank, to see where",
                              output, input));
    co_return;
  }
  void advance(std::uint64_t records) {
    done_ += records;
    progress_.show(done_, 2 * (plan_.first_of(self_.id() + 1) - plan_.first_of(self_.id())));
  }
  Task<Report> report() {
    report_.pages = co_await sum_of(self_.world(), counts_);
    report_.records = plan_.records;
    report_.record_bytes = plan_.shape.bytes;
    report_.ranks = self_.size();
    report_.nodes = self_.nodes();
    report_.placement = to_string(self_.placement());
    report_.memory = options_.memory;
    report_.runs = plan_.runs.size();
    report_.page_bytes = plan_.page_bytes;
    co_return report_;
  }

  Rank& self_;
  const Options& options_;
  Plan plan_;
  std::unique_ptr<File> input_;
  ProgressLine progress_;
  std::uint64_t done_ = 0;
  std::uint64_t input_checksum_ = 0;
  PagedCounts counts_;
  Report report_;
};

Task<> generate(Rank& self, const Options& options, std::uint64_t count) {
  NewFile file = co_await NewFile::make(self.world(), options.output, count * options.shape.bytes, options.force);
  const std::uint64_t first = first_of(count, self.size(), self.id());
  const std::uint64_t end = first_of(count, self.size(), self.id() + 1);
  co_await agree_on(self.world(), write_records(self, options.shape, options.seed, first, end, file.file()));
  co_await file.complete(self.world());
  if (self.id() == 0 && !options.quiet)
    fmt::print("{}: {} random records of {} bytes, seed {}\n", options.output, count, options.shape.bytes,
               options.seed);
}

Task<> sort(Rank& self, const Options& options) {
  Sort sorting(self, options);
  tell(self, co_await sorting.run(), options);
}

Task<> run_all(Rank& self, const Options& options) {
  return run_agreed(self, options.generated ? generate(self, options, *options.generated) : sort(self, options));
}

}  // namespace

}  // namespace coracle::oocsort

int main(int argc, char** argv) {
  return coracle::start(argc, argv, coracle::oocsort::parse_options(argc, argv), coracle::oocsort::run_all);
}
