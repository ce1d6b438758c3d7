// MessageRooms: rooms in which messages of some length lie while they are offered, and which belong to who has received
// them. What a rank has read last it writes next, so that each line crosses from core to core once per message, and not
// once to be read and once more to be written again. As HandedRooms for collectives, and PiggybackBuffers for short
// messages; but a room goes on to any rank of the node.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/job/job.hpp"

namespace coracle::internals {

/// Of one rank; its thread only. The node's ranks have as many rooms in all as they bring. One that is lost with a rank
/// costs speed alone: without a room a message lies in its sender's buffer.
class MessageRooms {
 public:
  static constexpr std::size_t kRoomBytes = JobRegion::kMessageRoomBytes;

  /// `own`: the rooms that this rank brings; null: none.
  explicit MessageRooms(std::byte* own) noexcept {
    if (own == nullptr) return;
    for (; number_ < JobRegion::kMessageRooms; ++number_) rooms_[number_] = own + number_ * kRoomBytes;
  }

  /// For a message: the room that was read last; null: none. Ends with gone() or come_back().
  std::byte* take() noexcept {
    if (number_ == 0) return nullptr;
    ++out_;
    return rooms_[--number_];
  }
  /// It is its receiver's now, or lost.
  void gone() noexcept { --out_; }
  /// The message was taken back, or its receiver has rooms enough.
  void come_back(std::byte* room) noexcept {
    --out_;
    rooms_[number_++] = room;
  }
  /// A message has come in this room. False: this rank has enough of them, as one that only receives would soon have
  /// all.
  bool accept(std::byte* room) noexcept {
    if (number_ + out_ >= rooms_.size()) return false;
    rooms_[number_++] = room;
    return true;
  }

  // Whether senders have written to their buffers since they sent them last, receivers see, as in PiggybackBuffers:
  // then to read a line takes several times as long. What comes is taken for a sign of what goes.

  /// Whether was_read() wants to know of the next one: now and then, since to look at a clock takes time, too.
  bool wants_time() noexcept { return cold_ > 0 || ++untimed_ % kTimedEvery == 0; }
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
  static constexpr unsigned kTimedEvery = 8;
  static constexpr unsigned kLeftOutEvery = 32;
  static constexpr unsigned kUnconfirmedMax = 4 * kLeftOutEvery;
  /// Measured (AMD Zen): 1.2 ns that is here, 1.8 to 2.7 from a core beside, 6.4 from one with another cache.
  static constexpr std::uint64_t kWarmLineNs = 3;
  static constexpr std::uint64_t kFixedNs = 200;

  std::array<std::byte*, 2 * JobRegion::kMessageRooms> rooms_{};
  std::size_t number_ = 0;
  std::size_t out_ = 0;  // with messages
  int cold_ = 0;
  unsigned untimed_ = 0;
  unsigned handed_ = 0;
  unsigned unconfirmed_ = 0;
};

}  // namespace coracle::internals
