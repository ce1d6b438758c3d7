// Pieces begin at the pages' borders where records do.
#include "apps/oocsort/run_merger.hpp"

#include <algorithm>
#include <utility>

#include "apps/common/in_flight.hpp"

namespace coracle::oocsort {
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
