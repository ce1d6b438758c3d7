// Inbox: where a rank receives messages from the peers that share memory with it. Two rings: requests, and replies,
// which are always consumed, so that two ranks with full request rings still free each other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transports/direct/buffered_sends.hpp"
#include "transports/direct/ring.hpp"

namespace coracle::internals::direct {

/// Lies in the job's region; all zero is its initial state. Behind it: one bit per rank, "rings me when there is room".
struct Inbox {
  Ring requests;
  Ring replies;
  alignas(kLineBytes) std::array<std::byte, BufferedSends::kBytes> buffered;  ///< Of this rank's own requests.
  alignas(kLineBytes) Writing writing;  ///< What this rank is just writing into a ring of a peer's.

  /// The bits of senders that found a ring full.
  std::atomic<std::uint64_t>* starving() noexcept { return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1); }
};

/// The numbers of rank `rank`'s rings, in Writing.
constexpr std::uint64_t number_of_requests(std::uint32_t rank) noexcept {
  return 2 * std::uint64_t{rank} + 1;
}
constexpr std::uint64_t number_of_replies(std::uint32_t rank) noexcept {
  return 2 * std::uint64_t{rank} + 2;
}

constexpr std::uint64_t starving_words(std::uint32_t ranks) noexcept {
  return (std::uint64_t{ranks} + 63) / 64;
}

/// Bytes that each rank's inbox takes in the job's region (JobShape::inbox_bytes).
constexpr std::uint64_t inbox_bytes(std::uint32_t ranks) noexcept {
  return sizeof(Inbox) + starving_words(ranks) * sizeof(std::uint64_t);
}

}  // namespace coracle::internals::direct
