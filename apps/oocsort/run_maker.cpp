// Blocks are sorted in the processor's caches and merged on their way out.
#include "apps/oocsort/run_maker.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "apps/common/in_flight.hpp"
#include "apps/oocsort/merger.hpp"
#include "apps/oocsort/splitters.hpp"

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

}  // namespace coracle::oocsort
