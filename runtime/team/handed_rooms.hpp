// HandedRooms: rooms for what one of two members gives the other, which belong to who has read them last.
//
// A processor gives a line that one core has written to the next one that reads it; who writes again where the other has
// read fetches each line back. So what this member has read becomes its own, and what it gives next it writes there.
// This is the piggybacked acknowledgement of messages (PiggybackBuffers), for collectives: nothing has to be told.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/assert.hpp"

namespace coracle::internals {

/// Of one of two members. A room has one owner at any time: the giver until the other has been told of it, then the
/// reader. One that the reader does not look at is lost to both, which costs speed alone: without rooms a member gives
/// by its arena.
class HandedRooms {
 public:
  static constexpr std::size_t kRoomBytes = 8 * 1024;
  static constexpr std::size_t kRoomsOfEach = 2;  // one that is read still, and one to give
  static constexpr std::size_t kBytes = kRoomsOfEach * kRoomBytes;

  /// None.
  HandedRooms() noexcept = default;
  /// Each member brings kBytes, in whole cache lines, that both reach at the same address.
  HandedRooms(std::byte* own, std::byte* other) noexcept : own_(own), other_(other) {
    for (; number_ < kRoomsOfEach; ++number_) rooms_[number_] = own + number_ * kRoomBytes;
  }

  /// Of the last one that this member has read. Null where it has none, or none so large. It is the other's, once that
  /// has been told.
  std::byte* take(std::size_t bytes) noexcept {
    return number_ == 0 || bytes > kRoomBytes ? nullptr : rooms_[--number_];
  }
  /// What take() will give; null.
  std::byte* next() const noexcept { return number_ == 0 ? nullptr : rooms_[number_ - 1]; }
  /// Whether `address` lies in a room of either.
  bool has(const std::byte* address) const noexcept {
    return own_ != nullptr && (lies_in(own_, address) || lies_in(other_, address));
  }
  /// The other has given it, and this member has read it.
  void keep(std::byte* room) noexcept {
    CORACLE_ASSERT(number_ < 2 * kRoomsOfEach, "more rooms than there are");
    rooms_[number_++] = room;
  }

 private:
  static bool lies_in(const std::byte* rooms, const std::byte* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(rooms) < kBytes;
  }

  std::byte* own_ = nullptr;
  std::byte* other_ = nullptr;
  std::byte* rooms_[2 * kRoomsOfEach] = {};  // the last is the one that was read last
  std::size_t number_ = 0;
};

}  // namespace coracle::internals
