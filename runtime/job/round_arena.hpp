// RoundArena: where a member of a node area leaves data for the other local members, for a round each; a room is free
// again when every local member is through with its round.
//
// Rounds that are in flight together take their rooms in any order, and who waits for room waits for rounds to end. An
// earlier round must never wait for a later one, which can't end before it does: so a part of the arena, the reserve,
// is for the earliest round of the member alone. All that can lie there is of still earlier rounds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace coracle::internals {

/// Rooms in a piece of memory, taken one behind the other, and again from the start.
class RingAllocator {
 public:
  RingAllocator(std::byte* base, std::uint64_t bytes, std::uint64_t cached_bytes)
      : base_(base), bytes_(bytes), cached_bytes_(cached_bytes) {}

  /// Rounds up to `over` have ended everywhere. Null where there is no room.
  std::byte* take(std::uint64_t round, std::size_t bytes, std::uint64_t over);
  std::size_t taken() const noexcept { return rooms_.size(); }
  /// Where the next room probably begins.
  std::byte* next() const noexcept {
    return base_ + (rooms_.empty() || rooms_.back().end == bytes_ ? 0 : rooms_.back().end);
  }
  /// The round that must end everywhere before there is more room. Some room is taken.
  std::uint64_t in_the_way() const noexcept { return rooms_.front().round; }

 private:
  struct Room {
    std::uint64_t round;
    std::uint64_t begin;  // offsets
    std::uint64_t end;
  };

  std::byte* base_;
  std::uint64_t bytes_;
  std::uint64_t cached_bytes_;  // beyond this it begins again at its start, when that is free
  std::deque<Room> rooms_;      // as they were taken
};

inline std::byte* RingAllocator::take(std::uint64_t round, std::size_t bytes, std::uint64_t over) {
  const std::uint64_t wanted = (std::max<std::uint64_t>(bytes, 1) + 63) / 64 * 64;
  if (bytes > bytes_) return nullptr;
  while (!rooms_.empty() && rooms_.front().round <= over) rooms_.pop_front();
  std::uint64_t begin = rooms_.empty() ? 0 : rooms_.back().end;
  const std::uint64_t oldest = rooms_.empty() ? 0 : rooms_.front().begin;
  bool fits;
  if (rooms_.empty() || begin > oldest) {
    // Free: all behind the newest, and all before the oldest.
    if (!rooms_.empty() && (begin >= cached_bytes_ || begin + wanted > bytes_) && wanted <= oldest) begin = 0;
    fits = begin + wanted <= bytes_;
  } else {
    fits = begin + wanted <= oldest;
  }
  if (!fits) return nullptr;
  rooms_.push_back({round, begin, begin + wanted});
  return base_ + begin;
}

class RoundArena {
 public:
  static constexpr std::uint64_t bytes_for(std::uint64_t arena_bytes) noexcept {
    return arena_bytes + reserve_of(arena_bytes);
  }

  RoundArena() : RoundArena(nullptr, 0) {}
  /// `bytes`: a multiple of 64; memory of bytes_for() that many. `set_apart`: so many of them, the first, are for
  /// something else; room_bytes_max() does not depend on that.
  RoundArena(std::byte* base, std::uint64_t bytes, std::uint64_t set_apart = 0)
      : bytes_(bytes),
        rooms_(base + set_apart, bytes - set_apart, kCachedBytes),
        reserve_(base + bytes, reserve_of(bytes), reserve_of(bytes)) {}

  /// What take_for_earliest() gives at most.
  std::uint64_t room_bytes_max() const noexcept { return reserve_of(bytes_); }
  /// Rounds up to `over` have ended everywhere. Null where there is no room just now, or never for so much.
  std::byte* take(std::uint64_t round, std::size_t bytes, std::uint64_t over) {
    return rooms_.take(round, bytes, over);
  }
  /// The same for a round before which no other of this member is under way.
  std::byte* take_for_earliest(std::uint64_t round, std::size_t bytes, std::uint64_t over) {
    std::byte* room = rooms_.take(round, bytes, over);
    return room != nullptr ? room : reserve_.take(round, bytes, over);
  }
  /// Where the next room probably begins, if it is not too large.
  std::byte* next() const noexcept { return rooms_.next(); }
  /// The rooms that are taken, but for the reserve's.
  std::size_t taken() const noexcept { return rooms_.taken(); }
  /// For a round that got no room: the earlier one that must end everywhere first; 0: a later one is in the way, so
  /// that it has to wait until it is the member's earliest.
  std::uint64_t awaited_by(std::uint64_t round, bool is_earliest) const noexcept {
    if (rooms_.taken() > 0 && rooms_.in_the_way() < round) return rooms_.in_the_way();
    return is_earliest ? reserve_.in_the_way() : 0;
  }

 private:
  static constexpr std::uint64_t kCachedBytes = 256 * 1024;
  static constexpr std::uint64_t kReserveBytesMin = 8 * 1024;
  static constexpr std::uint64_t reserve_of(std::uint64_t arena_bytes) noexcept {
    return arena_bytes == 0 ? 0 : std::max(arena_bytes / 4 / 128 * 128, kReserveBytesMin);
  }

  std::uint64_t bytes_;
  RingAllocator rooms_;
  RingAllocator reserve_;
};

}  // namespace coracle::internals
