// TcaMemory: what one rank knows of memory that its transfers concern: where the peers' lies, what its device may read,
// and whether this rank still has what others ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <system_error>

#include "runtime/job/address_map.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/rank.hpp"
#include "transports/tca/packet.hpp"

namespace coracle::internals::tca {

/// What a device may read and write: the job's region, and what ranks have exposed where all memory is shared.
class RegisteredMemory {
 public:
  explicit RegisteredMemory(const JobRegion& region) noexcept
      : region_(region), shares_memory_(region.shape().placement != Placement::process) {}

  /// Nobody's.
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  /// Whether all of it is `rank`'s own: its segment, its inbox, or what it has exposed.
  bool contains(std::uint32_t rank, const std::byte* begin, std::size_t bytes) const noexcept {
    const auto lies_in = [begin, bytes](const std::byte* first, std::uint64_t room) {
      return begin >= first && bytes <= room && begin <= first + (room - bytes);
    };
    return lies_in(region_.segment(rank), region_.shape().segment_bytes) ||
           lies_in(region_.inbox(rank), region_.shape().inbox_bytes) ||
           (shares_memory_ && is_exposed(rank, begin, bytes));
  }
  /// Whose inbox, segment or exposed memory all of it is, or kNobody.
  std::uint32_t owner_of(const std::byte* begin, std::size_t bytes) const noexcept {
    std::uint32_t owner = owner_of_inbox(begin);
    if (owner == kNobody) owner = part_at(begin, region_.segment(region_.first_rank()), region_.shape().segment_bytes);
    if (owner != kNobody) return contains(owner, begin, bytes) ? owner : kNobody;
    for (std::uint32_t i = 0; shares_memory_ && i < region_.ranks(); ++i)
      if (is_exposed(region_.first_rank() + i, begin, bytes)) return region_.first_rank() + i;
    return kNobody;
  }
  /// Whose inbox it lies in, or kNobody.
  std::uint32_t owner_of_inbox(const std::byte* place) const noexcept {
    return part_at(place, region_.inbox(region_.first_rank()), region_.shape().inbox_bytes);
  }

 private:
  /// Of parts that lie in a row, one for each rank.
  std::uint32_t part_at(const std::byte* place, const std::byte* first, std::uint64_t bytes) const noexcept {
    if (place < first || place >= first + bytes * region_.ranks()) return kNobody;
    return region_.first_rank() + static_cast<std::uint32_t>(static_cast<std::uint64_t>(place - first) / bytes);
  }
  bool is_exposed(std::uint32_t rank, const std::byte* begin, std::size_t bytes) const noexcept {
    for (std::uint32_t index = 0; const ExposedMemory* const exposed = region_.exposed(rank, index); ++index) {
      // seq_cst: as in AddressMap::check().
      const std::uint64_t room = exposed->word.load(std::memory_order_seq_cst) & ExposedMemory::kBytesMask;
      if (room == 0) continue;
      const auto* first = reinterpret_cast<const std::byte*>(exposed->address.load(std::memory_order_relaxed));
      if (begin >= first && bytes <= room && begin + bytes <= first + room) return true;
    }
    return false;
  }

  const JobRegion& region_;
  bool shares_memory_;
};

class TcaMemory {
 public:
  explicit TcaMemory(Rank& rank) noexcept;

  /// What is wrong with the places of an operation.
  std::error_code check(const Operation& operation) const noexcept;
  /// In the peer's address space, which is ours where memory is shared.
  std::byte* address_of(const RemoteAddress& place) const noexcept {
    return reinterpret_cast<std::byte*>(addresses_.address_there(place));
  }
  /// Whether it is memory of a job's own, which nobody withdraws.
  bool lasts(const std::byte* begin, std::size_t bytes) const noexcept { return region_.contains(begin, bytes); }
  /// Whether the device gets at a peer's memory there.
  bool is_reached(const std::byte* begin, std::size_t bytes) const noexcept {
    return shares_memory_ || lasts(begin, bytes);
  }
  /// Of this rank: whether its device may read it.
  bool is_registered(const std::byte* begin, std::size_t bytes) const noexcept {
    return registered_.contains(rank_, begin, bytes);
  }
  /// Of this rank: so that nobody withdraws it.
  bool is_in_segment(const std::byte* begin, std::size_t bytes) const noexcept;
  /// Whether this rank has not withdrawn that memory since a peer looked.
  bool is_there(std::uint32_t segment, const std::byte* begin, std::uint64_t bytes) const noexcept;

  PacketArea area_of(std::uint32_t rank) const noexcept { return {region_.inbox(rank), region_.shape().size}; }

 private:
  const JobRegion& region_;
  const std::uint32_t rank_;
  const AddressMap addresses_;
  const RegisteredMemory registered_;
  const bool shares_memory_;
};

}  // namespace coracle::internals::tca
