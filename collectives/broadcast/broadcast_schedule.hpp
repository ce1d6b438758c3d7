// BroadcastSchedule: what one node receives and sends in a broadcast over nodes, and in which order: the three
// algorithms, as plain data that one loop carries out.
//
// Source: competitive and pipelined broadcast (MPIActor, NUDT): BT, RDAAS and RingAAS; Thakur, Rabenseifner, Gropp:
// Optimization of collective communication operations in MPICH (2005). Beyond it, a node is not sent again what it has
// from the scatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/messages/mailbox.hpp"
#include "runtime/team/choices.hpp"

namespace coracle::internals {

struct BroadcastSchedule {
  /// A part of the message.
  struct Piece {
    std::size_t offset;
    std::size_t bytes;
    bool operator==(const Piece&) const = default;
  };
  struct Send {
    std::uint32_t node;   ///< Counted from the root's.
    std::uint32_t piece;  ///< Its number in the receiver's list.
    std::uint32_t needs;  ///< How many of this node's pieces must be there; at the root they may come from a GPU.
    Piece what;
  };

  /// In the order in which they come. All of the message, at every node but the root's, too.
  std::vector<Piece> pieces;
  /// Those to one node follow one another; nodes with much to pass on come first.
  std::vector<Send> sends;
  /// Nodes that send to this one.
  std::vector<std::uint32_t> sources;
};

/// For the `node`-th of `nodes`, counted from the root's, which is 0. `tree` is not automatic;
/// recursive_doubling needs a power of two of nodes. Pieces are not larger than `chunk_bytes`.
BroadcastSchedule make_broadcast_schedule(BroadcastTree tree, std::uint32_t nodes, std::uint32_t node,
                                          std::size_t bytes, std::size_t chunk_bytes);

// --- what all broadcasts keep to, whatever is chosen: the model reckons with it, and the broadcasts do so ---

/// So many of a node's ranks compete for leading it, at most: the senders must be told where to send, and they tell
/// each. The first of 8 comes K/90 late on average where arrivals are uniform in [0, K]; more would gain less than they
/// cost.
inline constexpr std::uint32_t kCompetitorsMax = 8;

/// Whether it goes ahead without asking where the receivers want it: it is copied more than once.
inline bool is_short_broadcast(std::uint32_t nodes, std::size_t bytes, const BroadcastChoice& choice) noexcept {
  // Within a node: shorter ones are copied twice, through the arena, so that nobody has to wait for anybody.
  constexpr std::size_t kContributedBytesMax = 4096;
  if (nodes == 1) return bytes <= kContributedBytesMax;
  return bytes == 0 || (choice.method != BroadcastMethod::competitive && choice.tree == BroadcastTree::binomial &&
                        bytes <= Mailbox::kWholeBytesMax);
}

}  // namespace coracle::internals
