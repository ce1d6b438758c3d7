// MessageRooms: rooms in which messages of some length lie while they are offered, and which belong to who has received
// them: what a rank has read last it writes next, and its lines cross once per message. As HandedRooms do for
// collectives, and PiggybackBuffers for short messages.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/job/job.hpp"

namespace coracle::internals {

/// Of one rank; its thread only. The node's ranks have so many rooms in all as they bring; a room that is lost, with a
/// rank, say, costs speed alone.
class MessageRooms {
 public:
  static constexpr std::size_t kRoomBytes = JobRegion::kMessageRoomBytes;

  /// `own`: the rooms that this rank brings; null: none.
  explicit MessageRooms(std::byte* own) noexcept {
    if (own == nullptr) return;
    for (; number_ < JobRegion::kMessageRooms; ++number_) rooms_[number_] = own + number_ * kRoomBytes;
  }

  /// The one that was read last; null: none. It goes with the message, or back by keep() where that is not received.
  std::byte* take() noexcept { return number_ == 0 ? nullptr : rooms_[--number_]; }
  /// One that a message has come in. Of many, which ranks have that only receive, some are left alone.
  void keep(std::byte* room) noexcept {
    if (number_ < rooms_.size()) rooms_[number_++] = room;
  }

  // Whether senders have written to their buffers since they sent them last, receivers see, as in PiggybackBuffers:
  // then to read a line takes several times as long. What comes is taken for a sign of what goes.

  /// `bytes` were read in their sender's own buffer, in `ns`.
  void was_read(std::size_t bytes, std::uint64_t ns) noexcept {
    const bool is_cold = ns > kFixedNs + bytes / 64 * kWarmLineNs;
    cold_ = is_cold ? std::min(cold_ + 1, kColdMax) : std::max(cold_ - 1, 0);
    unconfirmed_ = 0;
  }
  /// The next message. Some are left out, so that their receivers learn when nobody writes any more.
  bool are_worth_it() noexcept {
    if (cold_ < kColdMax - 1) return false;
    if (++unconfirmed_ > kUnconfirmedMax) cold_ = 0;
    return ++handed_ % kLeftOutEvery != 0;
  }

 private:
  static constexpr int kColdMax = 3;
  static constexpr unsigned kLeftOutEvery = 32;
  static constexpr unsigned kUnconfirmedMax = 4 * kLeftOutEvery;
  static constexpr std::uint64_t kWarmLineNs = 3;
  static constexpr std::uint64_t kFixedNs = 500;

  std::array<std::byte*, 16> rooms_{};
  std::size_t number_ = 0;
  int cold_ = 0;
  unsigned handed_ = 0;
  unsigned unconfirmed_ = 0;
};

}  // namespace coracle::internals
