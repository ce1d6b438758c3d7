// The rarer cases of address resolution: tagged slabs, exposed memory, whole memory, and saying what is wrong.
#include "runtime/job/address_map.hpp"

#include <fmt/format.h>

#include "runtime/core/error.hpp"
#include "runtime/job/accelerator.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/slab.hpp"

namespace coracle::internals {

AddressMap::AddressMap(const JobRegion& region, bool by_load_store, bool shares_memory) noexcept
    : segments_(region.segment(region.first_rank())),
      segment_bytes_(region.shape().segment_bytes),
      first_(region.first_rank()),
      size_(by_load_store ? region.ranks() : 0),
      shares_memory_(shares_memory),
      region_(&region) {}

std::error_code AddressMap::check(const RemoteAddress& place, std::size_t bytes) const noexcept {
  if (place.rank >= region_->shape().size) return Errc::no_such_peer;
  if (place.segment == RemoteAddress::kWholeMemory || !region_->is_local(place.rank)) return {};
  std::uint64_t room = segment_bytes_;
  if (place.segment != RemoteAddress::kOwnSegment) {
    const ExposedMemory* const exposed = region_->exposed(place.rank, ExposedMemory::index_of(place.segment));
    if (exposed == nullptr) return Errc::out_of_segment;
    // seq_cst: pairs with the release store of Rank::expose, which follows that of the address; and ordered behind the
    // mark of an ExposedAccess, for Rank::conceal.
    const std::uint64_t word = exposed->word.load(std::memory_order_seq_cst);
    if (word >> ExposedMemory::kTimesShift != ExposedMemory::times_of(place.segment)) return Errc::out_of_segment;
    room = word & ExposedMemory::kBytesMask;
  }
  const bool is_marked = place.segment == RemoteAddress::kOwnSegment && SlabTags::is_marked(place.offset);
  const std::uint64_t offset = is_marked ? place.offset & SlabTags::kOffsetMask : place.offset;
  if (offset > room || bytes > room - offset) return Errc::out_of_segment;
  if (is_marked && !SlabTags::hold(segment_of(place.rank), segment_bytes_, place.offset, bytes)) return Errc::slab_gone;
  return {};
}

std::uint64_t AddressMap::address_there(const RemoteAddress& place) const noexcept {
  if (place.segment == RemoteAddress::kWholeMemory) return place.offset;
  if (place.segment == RemoteAddress::kOwnSegment)
    return reinterpret_cast<std::uint64_t>(segment_of(place.rank)) + (place.offset & SlabTags::kOffsetMask);
  // relaxed: check() has loaded the word behind it with acquire before.
  const ExposedMemory* const exposed = region_->exposed(place.rank, ExposedMemory::index_of(place.segment));
  return exposed->address.load(std::memory_order_relaxed) + place.offset;
}

std::byte* AddressMap::reach_rarely(const RemoteAddress& place, std::size_t bytes) const noexcept {
  if (check(place, bytes)) return nullptr;
  auto* there = reinterpret_cast<std::byte*>(address_there(place));
  return shares_memory_ || region_->contains(there, bytes) ? there : nullptr;
}

std::string AddressMap::describe(const RemoteAddress& place, std::size_t bytes) const {
  if (place.rank == RemoteAddress::kNoRank)
    return "a Remote that has not been given a place: assign what Slab::remote() or Exposed::remote() gives, of peers "
           "mostly by gather_all";
  if (place.rank >= region_->shape().size)
    return fmt::format("rank {} of a job of {}", place.rank, region_->shape().size);
  if (place.segment == RemoteAddress::kOwnSegment)
    return fmt::format("{} bytes at offset {} of a segment of {} bytes", bytes, place.offset & SlabTags::kOffsetMask,
                       segment_bytes_);
  if (Accelerator::holds(place)) return fmt::format("{} bytes at offset {} of a GPU's segment", bytes, place.offset);
  return fmt::format("{} bytes at offset {} of exposed memory {}", bytes, place.offset,
                     ExposedMemory::index_of(place.segment) + 1);
}

}  // namespace coracle::internals
