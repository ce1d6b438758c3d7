// LocalParts: parts of different sizes between the members of a team on its only node. Their owner alone knows all of
// them, and so chooses the way of its parts and says which it is, in its contribution:
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/between/between.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/parts/given_parts.hpp"
#include "collectives/parts/member_blocks.hpp"
#include "runtime/core/cpu.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

enum class PartsWay : std::uint8_t {
  given,       ///< Copies of all parts: its owner goes on at once.
  in_place,    ///< The address of its SourceBlocks: it waits until all others stand at step 2.
  by_kernel,   ///< The same, but where each part lies, in its arena: others can copy it, but reach nothing else.
  by_message,  ///< Nothing but that: where it can't expose its memory, or parts are scattered.
  in_pieces,   ///< Two members exchange them (ExchangedPieces), which both know, unless their sizes differ.
};

/// Whether an owner that has said so waits until all others stand at step 2.
inline bool is_awaiting(PartsWay way) noexcept {
  return way == PartsWay::in_place || way == PartsWay::by_kernel;
}

/// Of one member in one collective, in whose frame it lives. A member's local index is its index in the team.
class LocalParts {
 public:
  LocalParts(Team& team, LocalCollective& local, std::uint64_t sequence) noexcept
      : team_(team), local_(local), sequence_(sequence) {}

  /// One of the other ways, which it gives: step 1. `parts` stays until the others stand at step 2.
  PartsWay say(const SourceBlocks& parts);
  /// The last way, of each part; returns when it may be reused.
  Task<> send(std::uint32_t to, MessageSource part) const;

  /// Of who has contributed.
  static PartsWay way_of(Round& round, std::uint32_t owner) noexcept;
  /// This member's part, of an owner who has given. Throws Error (bad_input) where its size is not the target's. False:
  /// the owner has failed, and not given it or withdrawn it.
  static bool try_take(LocalCollective& local, std::uint32_t owner, const MessageTarget& target);
  /// The same of any owner, when it has contributed.
  Task<> take(std::uint32_t owner, MessageTarget target, Copying how = Copying::by_caches) const;

 private:
  Task<> copy_from(std::uint32_t owner, MessageTarget target, Copying how) const;
  Task<> copy_by_kernel(std::uint32_t owner, MessageTarget target) const;
  Task<> receive(std::uint32_t owner, MessageTarget target) const;

  Team& team_;
  LocalCollective& local_;
  std::uint64_t sequence_;
};

/// What a member has for itself, of which it is `own`.
inline void copy_own_part(const SourceBlocks& parts, std::uint32_t own, const MessageTarget& target) {
  const MessageSource part = parts.of(own);
  if (part.bytes() > 0 && (target.is_scattered() || part.origin() != target.origin()))
    copy_part(target, part, 0, part.bytes());
}

}  // namespace coracle::internals
