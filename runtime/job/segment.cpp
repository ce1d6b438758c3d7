// The table of slabs' numbers, and the segment's allocator.
#include "runtime/job/segment.hpp"

#include <cstdlib>
#include <string_view>

#include "runtime/core/assert.hpp"
#include "runtime/job/slab.hpp"

namespace coracle::internals {

bool SlabTags::wanted() noexcept {
  const char* value = std::getenv("CORACLE_CHECK_SLABS");
  const std::string_view word = value != nullptr ? value : "";
  return !word.empty() && word != "0" && word != "no";
}

bool SlabTags::hold(std::byte* segment, std::uint64_t segment_bytes, std::uint64_t offset,
                    std::uint64_t bytes) noexcept {
  const auto number = static_cast<std::uint16_t>(offset >> kShift);
  const std::uint64_t begin = offset & kOffsetMask;
  const std::uint64_t room = segment_bytes - bytes_for(segment_bytes);
  if (begin > room || bytes > room - begin) return false;
  std::uint16_t* table = table_of(segment, segment_bytes);
  // relaxed: whoever has the place was told of it after its slab was tagged.
  for (std::uint64_t piece = begin / kPieceBytes; piece * kPieceBytes < begin + bytes; ++piece)
    if (std::atomic_ref(table[piece]).load(std::memory_order_relaxed) != number) return false;
  return true;
}

std::uint64_t SlabTags::give(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (++last_ == kNobody) ++last_;
  fill(offset, bytes, last_);
  return offset | std::uint64_t{last_} << kShift;
}

void SlabTags::fill(std::uint64_t offset, std::uint64_t bytes, std::uint16_t number) noexcept {
  for (std::uint64_t piece = offset / kPieceBytes; piece * kPieceBytes < offset + bytes; ++piece)
    std::atomic_ref(table_[piece]).store(number, std::memory_order_relaxed);  // as in hold()
}

SegmentHeap::SegmentHeap(std::uint64_t first, std::uint64_t bytes) : capacity_bytes_(bytes) {
  if (bytes > 0) free_.emplace(first, bytes);
}

std::uint64_t SegmentHeap::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  if (bytes > capacity_bytes_) return kNone;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes == 0) bytes = kAlignment;
  for (auto extent = free_.begin(); extent != free_.end(); ++extent) {
    const auto [start, room] = *extent;
    const std::uint64_t offset = (start + alignment - 1) & ~(alignment - 1);
    const std::uint64_t skipped = offset - start;
    if (skipped > room || room - skipped < bytes) continue;
    free_.erase(extent);
    if (skipped > 0) free_.emplace(start, skipped);
    if (room - skipped > bytes) free_.emplace(offset + bytes, room - skipped - bytes);
    used_.emplace(offset, bytes);
    return offset;
  }
  return kNone;
}

std::uint64_t SegmentHeap::used_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [offset, piece] : used_) bytes += piece;
  return bytes;
}

std::uint64_t SegmentHeap::mark(std::uint64_t offset) noexcept {
  return tags_ ? tags_->give(offset, used_.at(offset)) : offset;
}

void SegmentHeap::release(std::uint64_t offset) noexcept {
  offset &= SlabTags::kOffsetMask;
  const auto used = used_.find(offset);
  CORACLE_ASSERT(used != used_.end(), "offset {} of the segment was not allocated", offset);
  std::uint64_t bytes = used->second;
  if (tags_) tags_->take_back(offset, bytes);
  used_.erase(used);
  auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + bytes) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

void give_back(SegmentHeap& heap, const RemoteAddress& slab) noexcept {
  heap.release(slab.offset);
}

}  // namespace coracle::internals
