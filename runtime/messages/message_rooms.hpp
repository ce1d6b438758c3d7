// MessageRooms: rooms in which messages of some length lie while they are offered, and which belong to who has received
// them. What a rank has read last it writes next, so that each line crosses from core to core once per message, and not
// once to be read and once more to be written again. As HandedRooms for collectives, and PiggybackBuffers for short
// messages; but a room goes on to any rank of the node.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/core/assert.hpp"
#include "runtime/core/cold_reads.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

/// Of one rank; its thread only. Each rank brings as many as it has, those with its messages included: whoever keeps
/// one that a message has come in gives its sender another one for it. One that is lost with a rank costs speed alone:
/// without a room a message lies in its sender's buffer.
class MessageRooms {
 public:
  static constexpr std::size_t kRoomBytes = JobRegion::kMessageRoomBytes;
  /// Shorter ones, which are offered when their sender shall wait for their receiver, are not worth it.
  static constexpr std::size_t kMessageBytesMin = 8 * 1024;

  /// `own`: the rooms that this rank brings; null: none.
  explicit MessageRooms(std::byte* own) noexcept {
    if (own == nullptr) return;
    for (; number_ < JobRegion::kMessageRooms; ++number_) rooms_[number_] = own + number_ * kRoomBytes;
    warm_ = number_;
  }

  /// For a message: the room that was read last. It is no longer this rank's, but for put_back(). Null where there is
  /// none that this rank has read and not sent since, as for who sends alone: the lines of others must be fetched back.
  std::byte* take() noexcept {
    if (warm_ == 0) return nullptr;
    --warm_;
    return rooms_[--number_];
  }
  /// The message was taken back.
  void put_back(std::byte* room) noexcept {
    put(room, number_);
    ++warm_;
  }
  /// A message has come in this room, which is the warmest from now on. Gives the coldest one, for its sender.
  std::byte* exchange(std::byte* room) noexcept {
    put(room, number_);
    std::byte* const other = rooms_[0];
    std::copy(rooms_.begin() + 1, rooms_.begin() + number_, rooms_.begin());
    --number_;
    warm_ = std::min(warm_ + 1, number_);
    return other;
  }
  /// What the receiver of a message has given for its room.
  void get(std::byte* room) noexcept { put(room, 0); }

  /// Where ranks share addresses: whether messages had better lie in rooms.
  ColdReads& cold_reads() noexcept { return cold_reads_; }

 private:
  static constexpr std::uint64_t kFixedNs = 200;

  void put(std::byte* room, std::size_t place) noexcept {
    CORACLE_ASSERT(number_ < rooms_.size(), "more rooms than there are");
    std::copy_backward(rooms_.begin() + place, rooms_.begin() + number_, rooms_.begin() + number_ + 1);
    rooms_[place] = room;
    ++number_;
  }

  std::array<std::byte*, JobRegion::kMessageRooms + 1> rooms_{};  // from the coldest to the warmest
  std::size_t number_ = 0;
  std::size_t warm_ = 0;  // the last ones, which this rank has read since it sent them
  ColdReads cold_reads_{kFixedNs};
};

}  // namespace coracle::internals
