// TcaMemory: what one rank knows of memory that its transfers concern: where the peers' lies, what its device may read,
// and whether this rank still has what others ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <system_error>

#include "runtime/job/address_map.hpp"
#include "runtime/rank/rank.hpp"
#include "transports/tca/packet.hpp"
#include "transports/tca/registered_memory.hpp"

namespace coracle::internals::tca {

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
