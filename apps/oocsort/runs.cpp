// Blocks are sorted in the processor's caches and merged on their way out. When runs are merged, pieces begin at the
// pages' borders where records do.
#include "apps/oocsort/runs.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "apps/common/out_of_core.hpp"
#include "apps/oocsort/plan.hpp"
#include "apps/oocsort/sorting.hpp"

namespace coracle::oocsort {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;  // of one read
constexpr std::size_t kReads = 8;            // in flight
constexpr std::size_t kBlockRecords = 65536;

Outflow::Write to_segment(PagedSegment& segment) {
  return [&segment](std::uint64_t offset, std::span<const std::byte> bytes) -> Task<> {
    return as_task(segment.put(offset, bytes));
  };
}

}  // namespace

RunMaker::RunMaker(Rank& self, const Plan& plan, const File& input, PagedSegment& segment,
                   std::function<void(std::uint64_t)> progress)
    : self_(self),
      plan_(plan),
      input_(input),
      progress_(std::move(progress)),
      first_run_(plan.first_run_of(self.id())),
      runs_(plan.runs_of(self.id())),
      sorter_(plan.shape),
      out_(plan.shape.bytes, plan.write_bytes, to_segment(segment)) {}

Task<> RunMaker::make_runs(bool wants_checksum) {
  wants_checksum_ = wants_checksum;
  co_await with_scope(make_in, std::ref(*this));
  for (std::vector<std::byte>& buffer : buffers_) std::vector<std::byte>().swap(buffer);
}

Task<> RunMaker::make(Scope& scope) {
  std::unique_ptr<Started<>> next;
  if (runs_ > 0) next = std::make_unique<Started<>>(start(scope, read(0)));
  for (std::uint64_t run = 0; run < runs_; ++run) {
    co_await next->done();
    next.reset();
    if (run + 1 < runs_) next = std::make_unique<Started<>>(start(scope, read(run + 1)));
    if (wants_checksum_) checksum_ += checksum(buffer_of(run), plan_.shape.bytes);
    co_await sort_blocks(buffer_of(run));
    co_await write(scope, run);
  }
}

std::span<std::byte> RunMaker::buffer_of(std::uint64_t run) {
  const std::uint64_t bytes = plan_.runs[first_run_ + run].records * plan_.shape.bytes;
  std::vector<std::byte>& buffer = buffers_[run % 2];
  if (buffer.size() < bytes) buffer.resize(bytes);
  return std::span(buffer).first(bytes);
}

Task<> RunMaker::read(std::uint64_t run) {
  const std::span<std::byte> target = buffer_of(run);
  const std::uint64_t begin = (plan_.first_of(self_.id()) + run * plan_.run_records) * plan_.shape.bytes;
  const auto piece = [this, target, begin](std::size_t i) {
    const std::size_t at = i * kReadBytes;
    return read_fully(self_.loop().io(), input_, begin + at, target.data() + at,
                      std::min(kReadBytes, target.size() - at));
  };
  co_await for_each_in_flight((target.size() + kReadBytes - 1) / kReadBytes, kReads, piece);
}

namespace {

std::size_t block_bytes(const RecordShape& shape) noexcept {
  return std::clamp<std::size_t>(kReadBytes / shape.bytes, 1, kBlockRecords) * shape.bytes;
}

}  // namespace

Task<> RunMaker::sort_blocks(std::span<std::byte> records) {
  const std::size_t block = block_bytes(plan_.shape);
  for (std::size_t at = 0; at < records.size(); at += block) {
    sorter_.sort(records.subspan(at, std::min(block, records.size() - at)));
    co_await yield();
  }
}

Task<> RunMaker::write(Scope& scope, std::uint64_t run) {
  const std::span<std::byte> records = buffer_of(run);
  const std::size_t block = block_bytes(plan_.shape);
  const std::size_t blocks = (records.size() + block - 1) / block;
  Merger merger(plan_.shape, blocks);
  for (std::size_t i = 0; i < blocks; ++i)
    merger.feed(i, records.subspan(i * block, std::min(block, records.size() - i * block)));
  out_.begin(plan_.runs[first_run_ + run].offset);
  std::uint64_t written = 0;  // records
  std::uint64_t sampled = 0;  // the next sample's place
  while (!merger.done()) {
    const std::span<std::byte> room = co_await out_.room(scope);
    const Merged merged = merger.merge(room);
    const std::uint64_t count = merged.bytes / plan_.shape.bytes;
    for (; sampled < written + count; sampled += plan_.sample_step) {
      const std::byte* const record = room.data() + (sampled - written) * plan_.shape.bytes;
      samples_.insert(samples_.end(), record, record + plan_.shape.key_bytes);
    }
    written += count;
    out_.filled(merged.bytes);
    progress_(count);
    if (merged.dry) merger.feed(*merged.dry, {});
    co_await yield();
  }
  co_await out_.finish(scope);
}

namespace {

constexpr std::size_t kSearches = 64;  // in flight

Task<> search(const Plan& plan, PagedSegment& segment, Bounds bounds, std::uint64_t run, const Splitter& splitter,
              std::uint64_t& place) {
  std::vector<std::byte> key(plan.shape.key_bytes);
  while (bounds.low < bounds.high) {
    const std::uint64_t middle = bounds.low + (bounds.high - bounds.low) / 2;
    co_await segment.get(plan.runs[run].offset + middle * plan.shape.bytes, std::span(key));
    if (comes_before(plan.shape, key.data(), run, splitter))
      bounds.low = middle + 1;
    else
      bounds.high = middle;
  }
  place = bounds.low;
}

Outflow::Write to_file(Io& io, const File& file) {
  return [&io, &file](std::uint64_t offset, std::span<const std::byte> bytes) {
    return write_fully(io, file, offset, bytes.data(), bytes.size());
  };
}

}  // namespace

Task<std::vector<std::uint64_t>> places_of(const Plan& plan, PagedSegment& segment, const Samples& samples,
                                           Splitter splitter) {
  std::vector<std::uint64_t> places(plan.runs.size());
  const auto find = [&](std::size_t run) {
    return search(plan, segment, samples.bounds(splitter, run), run, splitter, places[run]);
  };
  co_await for_each_in_flight(places.size(), kSearches, find);
  co_return places;
}

RunMerger::RunMerger(Rank& self, const Plan& plan, PagedSegment& segment, std::span<const std::uint64_t> begins,
                     std::span<const std::uint64_t> ends, const File& output,
                     std::function<void(std::uint64_t)> progress)
    : plan_(plan),
      segment_(segment),
      progress_(std::move(progress)),
      piece_bytes_(plan.piece_records * plan.shape.bytes),
      out_(plan.shape.bytes, plan.write_bytes, to_file(self.loop().io(), output)) {
  for (std::size_t run = 0; run < plan.runs.size(); ++run) {
    if (begins[run] == ends[run]) continue;
    const std::uint64_t base = plan.runs[run].offset;
    sources_.emplace_back(base + begins[run] * plan.shape.bytes, base + ends[run] * plan.shape.bytes);
  }
  pieces_.resize(2 * sources_.size() * piece_bytes_);
}

Task<> RunMerger::merge(std::uint64_t first) {
  out_.begin(first * plan_.shape.bytes);
  if (!sources_.empty()) co_await with_scope(merge_in, std::ref(*this));
}

std::byte* RunMerger::half_of(std::size_t source, bool half) noexcept {
  return pieces_.data() + (2 * source + (half ? 1 : 0)) * piece_bytes_;
}

void RunMerger::start_read(Scope& scope, std::size_t number) {
  Source& source = sources_[number];
  const std::uint64_t page_offset = source.next % plan_.page_bytes;
  // Up to the page's border, so that the pieces after this one begin at one.
  const std::size_t to_border = page_offset < piece_bytes_ ? piece_bytes_ - page_offset : piece_bytes_;
  const bool fits = to_border % plan_.shape.bytes == 0 && plan_.page_bytes % plan_.shape.bytes == 0;
  source.reading_bytes = std::min<std::uint64_t>(fits ? to_border : piece_bytes_, source.end - source.next);
  if (source.reading_bytes == 0) return;
  source.has_come.reset();
  source.next += source.reading_bytes;
  scope.spawn(read(number, source.next - source.reading_bytes));
}

Task<> RunMerger::read(std::size_t number, std::uint64_t offset) {
  Source& source = sources_[number];
  const std::span<std::byte> target(half_of(number, source.half), source.reading_bytes);
  co_await segment_.get(offset, target);
  source.has_come.set();
}

Task<std::span<const std::byte>> RunMerger::next_piece(Scope& scope, std::size_t number) {
  Source& source = sources_[number];
  if (source.reading_bytes > 0) co_await source.has_come;
  const std::span<const std::byte> piece(half_of(number, source.half), source.reading_bytes);
  source.half = !source.half;
  start_read(scope, number);
  co_return piece;
}

Task<> RunMerger::merge_all(Scope& scope) {
  for (std::size_t source = 0; source < sources_.size(); ++source) start_read(scope, source);
  Merger merger(plan_.shape, sources_.size());
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    const std::span<const std::byte> piece = co_await next_piece(scope, source);
    merger.feed(source, piece);
  }
  while (!merger.done()) {
    const std::span<std::byte> room = co_await out_.room(scope);
    const Merged merged = merger.merge(room);
    out_.filled(merged.bytes);
    progress_(merged.bytes / plan_.shape.bytes);
    if (merged.dry) {
      const std::span<const std::byte> piece = co_await next_piece(scope, *merged.dry);
      merger.feed(*merged.dry, piece);
    }
    co_await yield();
  }
  co_await out_.finish(scope);
}

}  // namespace coracle::oocsort
