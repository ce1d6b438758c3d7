// ExchangedPieces: two members give each other long data, as much each, piece by piece through rooms that change hands
// (HandedRooms). Who has read a piece writes its own next but one in its place, so that each line crosses once, into
// the cache of who reads it, and is there when that one writes again. Nobody waits until its data has been read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "collectives/node/local_collective.hpp"
#include "runtime/core/task.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// This member's part, in the frame of the collective, of which it is all that is said. Each piece needs both members:
/// while one does not turn its loop, as between two calls of MPI_Test, the other gets two pieces further at most.
///
///     ExchangedPieces pieces(local, given, ExchangedPieces::piece_bytes(team, element));
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
  /// Whether so much, which each gives, goes so: the same at both.
  static bool suits(Team& team, std::size_t given_bytes, std::size_t element_bytes) noexcept;

  ExchangedPieces(LocalCollective& local, std::span<const std::byte> given, std::size_t piece_bytes) noexcept
      : local_(local), given_(given), piece_bytes_(piece_bytes) {}

  std::uint64_t count() const noexcept { return (given_.size() + piece_bytes_ - 1) / piece_bytes_; }
  /// Where a piece begins.
  std::size_t offset(std::uint64_t piece) const noexcept { return piece * piece_bytes_; }

  /// Gives the first two pieces.
  Task<> begin();
  /// The other's next piece, where it lies. What this member gives at the same offset has been copied before. Throws
  /// Error (bad_input) where the other gives more, or less.
  Task<std::span<const std::byte>> next();
  /// All has been read.
  void end() noexcept;

 private:
  static constexpr std::uint64_t kRooms = 2;      // of each
  static constexpr std::uint32_t kMark = 0x5043;  // of what is exposed: the first room

  std::span<const std::byte> given(std::uint64_t piece) const noexcept {
    const std::size_t begin = offset(piece);
    return given_.subspan(begin, std::min(piece_bytes_, given_.size() - begin));
  }
  /// Where the other gives its piece of this number, and this member its next but one.
  std::byte* room_of_theirs(std::uint64_t piece) const noexcept { return rooms_[(piece + kRooms) % rooms_.size()]; }
  void give(std::uint64_t piece) noexcept {
    const std::span<const std::byte> bytes = given(piece);
    std::memcpy(rooms_[piece % rooms_.size()], bytes.data(), bytes.size());
  }

  LocalCollective& local_;
  const std::span<const std::byte> given_;
  const std::size_t piece_bytes_;
  std::uint64_t taken_ = 0;                     // pieces that next() has given
  std::array<std::byte*, 2 * kRooms> rooms_{};  // this member's, and the other's
};

namespace within {

/// Two members give each other `given`, as much each; the other's goes to `taken`, which is apart.
Task<> exchange_bytes(Team& team, LocalCollective& local, std::span<const std::byte> given, std::byte* taken);

}  // namespace within

}  // namespace coracle::internals
