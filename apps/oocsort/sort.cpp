// The steps in their order, and what is agreed on between them.
#include "apps/oocsort/sort.hpp"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <utility>

#include "apps/common/agreement.hpp"
#include "apps/oocsort/run_maker.hpp"
#include "apps/oocsort/run_merger.hpp"
#include "apps/oocsort/verify.hpp"

namespace coracle::oocsort {

Sort::Sort(Rank& self, const Options& options)
    : self_(self), options_(options), progress_(!options.quiet && self.id() == 0) {}

Task<Report> Sort::run() {
  Team& world = self_.world();
  co_await agree_on(world, open_input());
  NewFile output = co_await NewFile::make(world, options_.output, plan_.records * plan_.shape.bytes, options_.force);
  if (plan_.records > 0) co_await sort_through_segment(output.file());
  progress_.clear();
  if (options_.verify) co_await verify(output.file());
  co_await output.complete(world);
  co_return co_await report();
}

Task<> Sort::open_input() {
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

Task<> Sort::sort_through_segment(const File& output) {
  std::uint64_t began_ns = self_.loop().exact_now_ns();
  const ScratchFolder folder = co_await ScratchFolder::make(self_.world(), options_.scratch);
  std::unique_ptr<PagedSegment> segment;
  co_await agree_on(self_.world(), make_segment(folder, segment));
  folder.forget_files();
  const Samples samples = co_await make_runs(*segment);
  report_.making_s = lap(began_ns);
  co_await merge(*segment, samples, output);
  co_await agree_on(self_.world(), segment->close());
  report_.merging_s = lap(began_ns);
}

Task<> Sort::make_segment(const ScratchFolder& folder, std::unique_ptr<PagedSegment>& segment) {
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

Task<Samples> Sort::make_runs(PagedSegment& segment) {
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

Task<> Sort::merge(PagedSegment& segment, const Samples& samples, const File& output) {
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

Task<> Sort::find_places(PagedSegment& segment, const Samples& samples, std::vector<std::uint64_t>& places) {
  if (self_.id() == 0) co_return;  // it begins with all runs
  Splitter splitter = samples.splitter(self_.id(), self_.size());
  places = co_await places_of(plan_, segment, samples, std::move(splitter));
}

Task<> Sort::verify(const File& output) {
  std::uint64_t began_ns = self_.loop().exact_now_ns();
  std::uint64_t output_checksum = 0;
  co_await agree_on(self_.world(), check_output(output, output_checksum));
  std::vector<std::uint64_t> sums = {input_checksum_, output_checksum};
  co_await self_.world().all_reduce(sums, std::plus<>{});
  co_await agree_on(self_.world(), compare(sums[0], sums[1]));
  report_.verifying_s = lap(began_ns);
  report_.checksum = sums[1];
}

Task<> Sort::check_output(const File& output, std::uint64_t& sum) {
  const std::uint64_t expected = plan_.records * plan_.shape.bytes;
  if (output.bytes() != expected)
    throw Error(std::make_error_code(std::errc::state_not_recoverable),
                fmt::format("{} has {} bytes instead of {}; sort anew, and see whether its file system is sound",
                            output.path(), output.bytes(), expected));
  sum = co_await check_order(self_, plan_, output, options_.memory);
}

Task<> Sort::compare(std::uint64_t input, std::uint64_t output) {
  if (input != output)
    throw Error(std::make_error_code(std::errc::state_not_recoverable),
                fmt::format("the output's records (checksum {:016x}) are not the input's ({:016x}): a mistake in "
                            "oocsort or below, or an input that changed meanwhile; sort anew, with another --place "
                            "and with one rank, to see where",
                            output, input));
  co_return;
}

void Sort::advance(std::uint64_t records) {
  done_ += records;
  progress_.show(done_, 2 * (plan_.first_of(self_.id() + 1) - plan_.first_of(self_.id())));
}

double Sort::lap(std::uint64_t& began_ns) {
  const std::uint64_t now_ns = self_.loop().exact_now_ns();
  return static_cast<double>(now_ns - std::exchange(began_ns, now_ns)) * 1e-9;
}

Task<Report> Sort::report() {
  std::vector<std::uint64_t> pages = {counts_.ssd_reads, counts_.ssd_writes, counts_.from_peers};
  co_await self_.world().all_reduce(pages, std::plus<>{});
  report_.ssd_reads = pages[0];
  report_.ssd_writes = pages[1];
  report_.from_peers = pages[2];
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

}  // namespace coracle::oocsort
