// HandedRooms: where one of two members leaves what it gives the other: a room that it has from that one.
//
// Processors pass a line that one core has written on to the next one that reads it. Who writes again where the other
// has read fetches each line back. So what this member has read is its own from then on, and it writes there what it
// gives next. Messages do the same (PiggybackBuffers).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/core/assert.hpp"

namespace coracle::internals {

/// Of one of two members of a team. A room has one owner at any time: the giver until the other has been told of it,
/// then the reader. One that the reader does not look at is lost to both, which costs speed alone: without rooms a
/// member gives by its arena.
class HandedRooms {
 public:
  static constexpr std::size_t kRoomsOfEach = 2;  // one that is read still, and one to give

  /// What rooms of a member may take of an arena of so many bytes: an eighth; of a small one none.
  static constexpr std::size_t room_bytes_of(std::size_t arena_bytes) noexcept {
    constexpr std::size_t kRoomBytesMax = 256 * 1024;
    constexpr std::size_t kRoomBytesMin = 4 * 1024;
    const std::size_t bytes = std::min(arena_bytes / (8 * kRoomsOfEach) / 64 * 64, kRoomBytesMax);
    return bytes < kRoomBytesMin ? 0 : bytes;
  }

  /// None.
  HandedRooms() noexcept = default;
  /// Each member brings kRoomsOfEach rooms, in a row, of whole cache lines, that both reach at the same address.
  HandedRooms(std::byte* own, std::byte* other, std::size_t room_bytes) noexcept
      : own_(own), other_(other), room_bytes_(room_bytes) {
    for (; number_ < kRoomsOfEach; ++number_) rooms_[number_] = own + number_ * room_bytes;
  }

  /// 0: there are none.
  std::size_t room_bytes() const noexcept { return room_bytes_; }

  /// Of the last one that this member has read. Null where it has none, or none so large. It is the other's, once that
  /// has been told.
  std::byte* take(std::size_t bytes) noexcept {
    return number_ == 0 || bytes > room_bytes_ ? nullptr : rooms_[--number_];
  }
  /// What take() will give; null.
  std::byte* next() const noexcept { return number_ == 0 ? nullptr : rooms_[number_ - 1]; }
  /// Whether `address` lies in a room of either.
  bool has(const std::byte* address) const noexcept { return lies_in(own_, address) || lies_in(other_, address); }
  /// The other has given it, and this member has read it.
  void keep(std::byte* room) noexcept {
    CORACLE_ASSERT(number_ < 2 * kRoomsOfEach, "more rooms than there are");
    rooms_[number_++] = room;
  }

 private:
  bool lies_in(const std::byte* rooms, const std::byte* address) const noexcept {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(rooms);
    return offset < kRoomsOfEach * room_bytes_;
  }

  std::byte* own_ = nullptr;
  std::byte* other_ = nullptr;
  std::size_t room_bytes_ = 0;
  std::byte* rooms_[2 * kRoomsOfEach] = {};  // the last is the one that was read last
  std::size_t number_ = 0;
};

}  // namespace coracle::internals
