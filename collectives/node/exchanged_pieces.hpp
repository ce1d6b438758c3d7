// ExchangedPieces: two members give each other long data, each as it lies, piece by piece through rooms that change
// hands (HandedRooms). Who has read a piece writes its own next but one in its place, so that each line crosses once,
// into the cache of who reads it, and is there when that one writes again. Nobody waits until its data has been read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/node/local_collective.hpp"
#include "runtime/core/task.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// This member's part, in the frame of the collective, of which it is all that is said. Each piece needs both members:
/// while one does not turn its loop, as between two calls of MPI_Test, the other gets two pieces further at most.
///
///     ExchangedPieces pieces(local, given, taken_bytes, ExchangedPieces::piece_bytes(team, element));
///     co_await pieces.begin();
///     for (std::uint64_t piece = 0; piece < pieces.count(); ++piece) {
///       const std::span<const std::byte> theirs = co_await pieces.next();
///       ...                                     // to be read before the next one is asked for
///     }
///     pieces.end();
class ExchangedPieces {
 public:
  /// Of a piece, in whole elements; 0: members of this team don't exchange pieces, or not of such elements.
  static std::size_t piece_bytes(Team& team, std::size_t element_bytes) noexcept;
  /// Whether what they give, so much the one and so much the other, goes so: the same at both. Then neither of them
  /// would give what it has at once.
  static bool suits(Team& team, std::size_t one, std::size_t other, std::size_t element_bytes) noexcept;
  static bool suits(Team& team, std::size_t bytes_of_each, std::size_t element_bytes) noexcept {
    return suits(team, bytes_of_each, bytes_of_each, element_bytes);
  }

  /// `taken_bytes`: what the other gives.
  ExchangedPieces(LocalCollective& local, MessageSource given, std::size_t taken_bytes,
                  std::size_t piece_bytes) noexcept
      : local_(local), given_(given), taken_bytes_(taken_bytes), piece_bytes_(piece_bytes) {}

  /// Of the one that gives more.
  std::uint64_t count() const noexcept {
    return (std::max(given_.bytes(), taken_bytes_) + piece_bytes_ - 1) / piece_bytes_;
  }
  /// Where a piece begins.
  std::size_t offset(std::uint64_t piece) const noexcept { return piece * piece_bytes_; }

  static constexpr std::uint32_t kMark = 0x5043;  ///< Of what such a member exposes: its first room.

  /// Gives the first two pieces.
  Task<> begin();
  /// The other's next piece, where it lies: nothing when it has given all. What this member gives at the same offset
  /// has been copied before. Throws Error (bad_input) where the other gives more, or less.
  Task<std::span<const std::byte>> next();
  /// All has been read.
  void end() noexcept;

 private:
  static constexpr std::uint64_t kRooms = 2;  // of each

  /// Of this number, of so many bytes.
  std::size_t bytes_of(std::uint64_t piece, std::size_t all) const noexcept {
    const std::size_t begin = offset(piece);
    return begin < all ? std::min(piece_bytes_, all - begin) : 0;
  }
  /// Where the other gives its piece of this number, and this member its next but one.
  std::byte* room_of_theirs(std::uint64_t piece) const noexcept { return rooms_[(piece + kRooms) % rooms_.size()]; }
  void give(std::uint64_t piece) {
    const std::size_t bytes = bytes_of(piece, given_.bytes());
    if (bytes > 0) read_part(given_, offset(piece), {rooms_[piece % rooms_.size()], bytes});
  }
  Task<> find_rooms_of_theirs();

  LocalCollective& local_;
  const MessageSource given_;
  const std::size_t taken_bytes_;
  const std::size_t piece_bytes_;
  std::uint64_t taken_ = 0;                     // pieces that next() has given
  std::array<std::byte*, 2 * kRooms> rooms_{};  // this member's, and the other's
};

namespace within {

/// Two members give each other `given`; the other's goes to `taken`, which is apart.
Task<> exchange_bytes(Team& team, LocalCollective& local, MessageSource given, MessageTarget taken);

}  // namespace within

}  // namespace coracle::internals
