// NodeAreaPart: one member's part of a node area (node_area.hpp), as it lies in shared memory. All bytes zero is its
// initial state.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/job/collective_log.hpp"
#include "runtime/job/flag.hpp"
#include "runtime/job/round_arena.hpp"

namespace coracle::internals {

/// A member's word to the other local members about one round: a cache line that only it writes, but for the sleepers.
struct alignas(64) Contribution {
  /// `round << kStepBits | step`.
  Flag flag;
  /// 1 + the local index of the local member out of whose memory this member copies just now, in this round; 0: none.
  std::atomic<std::uint32_t> reading{0};
  /// Bytes that are contributed inline, or kExposed and the mark of what is exposed (16 bits); and above them the
  /// signature of what the member has called (CollectiveLog).
  std::atomic<std::uint32_t> mark{0};
  /// Memory that is exposed: its address (0: no longer) and size; or a short message in their place.
  std::atomic<std::uint64_t> address{0};
  std::atomic<std::uint64_t> bytes{0};
  const std::byte* results = nullptr;  ///< See Round::expose_results().
  /// Of exposed memory that local members may write into: parts that have been taken to write, and those that others
  /// have written.
  std::atomic<std::uint32_t> claimed{0};
  std::atomic<std::uint32_t> written{0};
  std::byte rest[8]{};

  static constexpr std::size_t kLineInlineBytesMax = 40;  ///< In the line itself.
  static constexpr std::size_t kInlineBytesMax = 64;      ///< Or in the line beside it; see Contributions.
  static constexpr std::uint32_t kExposed = 0x80000000;
  static constexpr unsigned kSignatureShift = 16;
  static constexpr std::uint32_t kMarkMask = 0xffff;
  static constexpr std::uint32_t kSignatureMask = ~(kExposed | kMarkMask);
  /// Where so many bytes lie that are contributed inline.
  std::byte* inline_data(std::size_t many) noexcept {
    return many <= kLineInlineBytesMax ? reinterpret_cast<std::byte*>(&address) : beside();
  }
  /// The other line of the pair.
  std::byte* beside() noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(this) ^ sizeof(Contribution));
  }
};
static_assert(sizeof(Contribution) == 64);
static_assert(Contribution::kSignatureMask >> Contribution::kSignatureShift ==
              (1U << CollectiveLog::kSignatureBits) - 1);

/// A member's contributions to the last rounds. Each has a pair of lines, which processors fetch together: so what is a
/// little longer than its own line holds comes with it, and no address has to be known first. Which line of the pair is
/// the contribution's own changes half way: else all would lie in the same half of the first-level cache's sets.
template <std::uint32_t Rounds>
class Contributions {
 public:
  Contribution& of(std::uint64_t number) noexcept {
    const std::uint64_t place = number % Rounds;
    return lines_[2 * place + place / (Rounds / 2)];
  }

 private:
  alignas(2 * sizeof(Contribution)) Contribution lines_[2 * Rounds];
};

/// What the local members decide together in one round; but for `came` only that of the node's first member is used.
struct alignas(64) RoundControl {
  /// `round << kStepBits | step`; several raise it.
  Flag decision;
  /// `round << kStepBits | 1 + local index of who leads`.
  std::atomic<std::uint64_t> leader{0};
  /// `round << kStepBits | how many have come`.
  std::atomic<std::uint64_t> arrivals{0};
  /// `round << kStepBits | signature` of who came first.
  std::atomic<std::uint64_t> called{0};
  /// Used in every member's part: `round << kStepBits | 1 + local index`, in the part at local index i of who was
  /// number i to come.
  std::atomic<std::uint64_t> came{0};
};

/// Followed by the arena (RoundArena). Its size depends on no number of members, so that it can be there before it is
/// known who they are.
struct NodeAreaPart {
  static constexpr std::uint32_t kRounds = 128;  ///< How many a member can be ahead of its slowest other.
  static constexpr std::uint32_t kStepBits = 20;
  static constexpr std::uint64_t kArenaBytes = 4 << 20;

  /// All rounds up to this one are over for this member.
  alignas(64) Flag retired;
  /// How many local members will never look at this part again.
  alignas(64) std::atomic<std::uint32_t> departed{0};
  Contributions<kRounds> contributions;
  RoundControl controls[kRounds];
  /// What this member has called. Local members look at them only when signatures differ.
  alignas(64) CollectiveLog::Records calls;

  static constexpr std::uint64_t bytes_for(std::uint64_t arena_bytes) noexcept;

  std::byte* arena() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

constexpr std::uint64_t NodeAreaPart::bytes_for(std::uint64_t arena_bytes) noexcept {
  return sizeof(NodeAreaPart) + RoundArena::bytes_for(arena_bytes);
}

}  // namespace coracle::internals
