// The rarer cases of address resolution: exposed memory, whole memory, and saying what is wrong.
#include "runtime/address_map.hpp"

#include <fmt/format.h>

#include "runtime/accelerator.hpp"
#include "runtime/error.hpp"

namespace coracle {

std::error_code AddressMap::check(const RemoteAddress& place, std::size_t bytes) const noexcept {
  if (place.rank >= region_->shape().size) return Errc::no_such_peer;
  if (place.segment == RemoteAddress::kWholeMemory || !region_->is_local(place.rank)) return {};
  std::uint64_t room = segment_bytes_;
  if (place.segment != RemoteAddress::kOwnSegment) {
    if (place.segment > RankBlock::kExposedMax) return Errc::out_of_segment;
    // acquire: pairs with the release store of Rank::expose, which follows that of the address.
    room = region_->block(place.rank).exposed[place.segment - 1].bytes.load(std::memory_order_acquire);
  }
  if (place.offset > room || bytes > room - place.offset) return Errc::out_of_segment;
  return {};
}

std::uint64_t AddressMap::address_there(const RemoteAddress& place) const noexcept {
  if (place.segment == RemoteAddress::kWholeMemory) return place.offset;
  if (place.segment == RemoteAddress::kOwnSegment)
    return reinterpret_cast<std::uint64_t>(segments_) + (place.rank - first_) * segment_bytes_ + place.offset;
  // relaxed: check() has loaded `bytes` with acquire before.
  return region_->block(place.rank).exposed[place.segment - 1].address.load(std::memory_order_relaxed) + place.offset;
}

std::byte* AddressMap::reach_exposed(const RemoteAddress& place, std::size_t bytes) const noexcept {
  if (place.segment == RemoteAddress::kOwnSegment || check(place, bytes)) return nullptr;
  auto* there = reinterpret_cast<std::byte*>(address_there(place));
  return shares_memory_ || region_->contains(there, bytes) ? there : nullptr;
}

std::string AddressMap::describe(const RemoteAddress& place, std::size_t bytes) const {
  if (place.rank >= region_->shape().size)
    return fmt::format("rank {} of a job of {}", place.rank, region_->shape().size);
  if (place.segment == RemoteAddress::kOwnSegment)
    return fmt::format("{} bytes at offset {} of a segment of {} bytes", bytes, place.offset, segment_bytes_);
  if (Accelerator::holds(place)) return fmt::format("{} bytes at offset {} of a GPU's segment", bytes, place.offset);
  return fmt::format("{} bytes at offset {} of exposed memory {}", bytes, place.offset, place.segment);
}

}  // namespace coracle
