// BoardPart: one member's part of a board (board.hpp), as it lies in shared memory. All bytes zero is its initial
// state.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/job/collective_log.hpp"
#include "runtime/job/flag.hpp"
#include "runtime/job/staging_arena.hpp"

namespace coracle::internals {

/// A member's word to its node-mates about one round: a cache line that only it writes, but for the sleepers.
struct alignas(64) Post {
  /// `round << kStageBits | stage`.
  Flag flag;
  /// 1 + the place of the mate out of whose memory this member copies just now, in this round; 0: none.
  std::atomic<std::uint32_t> reading{0};
  /// Bytes that are posted inline, or kLent and the mark of what is lent (16 bits); and above them the signature of
  /// what the member has called (CollectiveLog).
  std::atomic<std::uint32_t> mark{0};
  /// Memory that is lent: its address (0: no longer) and size; or a short message in their place.
  std::atomic<std::uint64_t> address{0};
  std::atomic<std::uint64_t> bytes{0};
  const std::byte* results = nullptr;  ///< See Round::lend_results().
  /// Of lent memory that mates may write into: parts that have been taken to write, and those that others have written.
  std::atomic<std::uint32_t> claimed{0};
  std::atomic<std::uint32_t> written{0};
  std::byte rest[8]{};

  static constexpr std::size_t kInlineBytesMax = 40;
  static constexpr std::uint32_t kLent = 0x80000000;
  static constexpr unsigned kSignatureShift = 16;
  static constexpr std::uint32_t kMarkMask = 0xffff;
  static constexpr std::uint32_t kSignatureMask = ~(kLent | kMarkMask);
  std::byte* inline_data() noexcept { return reinterpret_cast<std::byte*>(&address); }
};
static_assert(sizeof(Post) == 64);
static_assert(Post::kSignatureMask >> Post::kSignatureShift == (1U << CollectiveLog::kSignatureBits) - 1);

/// What the mates decide together in one round; only that of the node's first member is used.
struct alignas(64) Ballot {
  /// `round << kStageBits | stage`; several raise it.
  Flag verdict;
  /// `round << kStageBits | 1 + place of who leads`.
  std::atomic<std::uint64_t> leader{0};
  /// `round << kStageBits | how many have come`.
  std::atomic<std::uint64_t> arrivals{0};
  /// `round << kStageBits | signature` of who came first.
  std::atomic<std::uint64_t> called{0};
};

/// Followed by kRounds rows of one number per mate (who came as which; of the node's first member), and the arena
/// (StagingArena).
struct BoardPart {
  static constexpr std::uint32_t kRounds = 128;  ///< How many a member can be ahead of its slowest mate.
  static constexpr std::uint32_t kStageBits = 20;
  static constexpr std::uint64_t kArenaBytes = 4 << 20;

  /// All rounds up to this one are over for this member.
  alignas(64) Flag retired;
  /// How many mates will never look at this part again.
  alignas(64) std::atomic<std::uint32_t> departed{0};
  alignas(64) Post posts[kRounds];
  Ballot ballots[kRounds];
  /// What this member has called. Mates look at them only when signatures differ.
  alignas(64) CollectiveLog::Records calls;

  static constexpr std::uint64_t order_bytes(std::uint32_t mates) noexcept {
    return (std::uint64_t{kRounds} * mates * sizeof(std::uint64_t) + 63) / 64 * 64;
  }
  static constexpr std::uint64_t bytes_for(std::uint32_t mates, std::uint64_t arena_bytes) noexcept;

  std::atomic<std::uint64_t>* order(std::uint64_t round, std::uint32_t mates) noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1) + round % kRounds * mates;
  }
  std::byte* arena(std::uint32_t mates) noexcept { return reinterpret_cast<std::byte*>(this + 1) + order_bytes(mates); }
};

constexpr std::uint64_t BoardPart::bytes_for(std::uint32_t mates, std::uint64_t arena_bytes) noexcept {
  return sizeof(BoardPart) + order_bytes(mates) + StagingArena::bytes_for(arena_bytes);
}

}  // namespace coracle::internals
