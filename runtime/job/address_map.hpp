// AddressMap: turns a RemoteAddress into a pointer, for peers whose memory this rank reaches by plain loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

#include "runtime/job/remote.hpp"

namespace coracle::internals {

class JobRegion;

class AddressMap {
 public:
  /// `shares_memory`: every byte of a peer is reachable, not only the job's region (`pvas`, `thread`, `sim`).
  AddressMap(const JobRegion& region, bool by_load_store, bool shares_memory) noexcept;

  /// Where `bytes` at `place` lie, or null: then check() tells whether they exist at all.
  std::byte* reach(const RemoteAddress& place, std::size_t bytes) const noexcept {
    if (place.segment == RemoteAddress::kOwnSegment && place.rank - first_ < size_ && place.offset <= segment_bytes_ &&
        bytes <= segment_bytes_ - place.offset) [[likely]]
      return segment_of(place.rank) + place.offset;
    return place.rank - first_ < size_ ? reach_rarely(place, bytes) : nullptr;
  }

  /// The same, but null for what its owner may withdraw while it is being copied: see ExposedAccess.
  std::byte* reach_lasting(const RemoteAddress& place, std::size_t bytes) const noexcept {
    if (place.segment == RemoteAddress::kOwnSegment && place.rank - first_ < size_ && place.offset <= segment_bytes_ &&
        bytes <= segment_bytes_ - place.offset) [[likely]]
      return segment_of(place.rank) + place.offset;
    return place.rank - first_ < size_ && !place.may_be_withdrawn() ? reach_rarely(place, bytes) : nullptr;
  }

  /// Whether `bytes` at `place` lie inside a segment or exposed memory of an existing rank: empty, or what is wrong. It
  /// judges by the region, so it holds for every peer of this node, reachable by load and store or not; a peer of
  /// another node judges by itself.
  std::error_code check(const RemoteAddress& place, std::size_t bytes) const noexcept;
  /// Address in the peer's own address space; only for a place that check() found good.
  std::uint64_t address_there(const RemoteAddress& place) const noexcept;
  /// For a message: "offset 4096 + 8 bytes of a segment of 1024 bytes".
  std::string describe(const RemoteAddress& place, std::size_t bytes) const;

 private:
  std::byte* segment_of(std::uint32_t rank) const noexcept { return segments_ + (rank - first_) * segment_bytes_; }
  std::byte* reach_rarely(const RemoteAddress& place, std::size_t bytes) const noexcept;

  std::byte* segments_;
  std::uint64_t segment_bytes_;
  std::uint32_t first_;
  std::uint32_t size_;  // of the ranks from first_ on; 0: nothing is reached by load and store
  bool shares_memory_;
  const JobRegion* region_;
};

}  // namespace coracle::internals
