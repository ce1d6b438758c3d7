// What of a segment is for slabs, and what is said when there is none left.
#include "runtime/rank/own_segment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/segment.hpp"

namespace coracle::internals {
namespace {

std::uint64_t room_for_slabs(std::uint64_t segment_bytes) noexcept {
  const std::uint64_t taken = TeamArea::kWorldBytes + (SlabTags::wanted() ? SlabTags::bytes_for(segment_bytes) : 0);
  return segment_bytes - std::min(taken, segment_bytes);
}

}  // namespace

OwnSegment::OwnSegment(const JobRegion& region, std::uint32_t rank)
    : rank_(rank),
      begin_(region.segment(rank)),
      heap_(std::make_unique<SegmentHeap>(TeamArea::kWorldBytes, room_for_slabs(region.shape().segment_bytes))) {
  if (SlabTags::wanted()) heap_->use_marks({begin_, region.shape().segment_bytes});
}

OwnSegment::~OwnSegment() = default;

std::uint64_t OwnSegment::allocate_offset(std::size_t bytes, std::size_t alignment) {
  const std::uint64_t offset = heap_->allocate(bytes, std::max(alignment, SegmentHeap::kAlignment));
  if (offset != SegmentHeap::kNone) return offset;
  throw Error(Errc::segment_full,
              fmt::format("no room for {} bytes in its segment ({} of {} bytes in use); start with a larger one: "
                          "`coracle run --segment 4G ...`",
                          bytes, heap_->used_bytes(), heap_->capacity_bytes()));
}

std::uint64_t OwnSegment::marked(std::uint64_t offset) noexcept {
  return heap_->mark(offset);
}

Slab<std::byte> OwnSegment::allocate_raw(std::size_t bytes, std::size_t alignment) {
  const std::uint64_t offset = allocate_offset(bytes, alignment);
  return {*heap_, begin_ + offset, bytes, Remote<std::byte>(RemoteAddress{offset, rank_, RemoteAddress::kOwnSegment})};
}

}  // namespace coracle::internals
