// BroadcastChoice and Algorithm: how a broadcast goes, and other collectives between nodes, as far as the caller wants
// to say.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle::internals {

/// Who carries the data of a node from the other nodes to the other local members, and when. Source: unbalanced process
/// arrival in two-level broadcasts (MPIActor, NUDT).
enum class BroadcastMethod : std::uint8_t {
  automatic,    ///< By the cost model.
  plain,        ///< A fixed leader receives all of the message, then the other local members get it.
  pipelined,    ///< A fixed leader; each piece goes on to the node and to other nodes as it comes.
  competitive,  ///< As pipelined, but the first of the node's ranks to arrive leads (on the root's node the root).
};

/// In which way the data spreads over the nodes.
enum class BroadcastTree : std::uint8_t {
  automatic,           ///< By the cost model.
  binomial,            ///< BT: short messages.
  recursive_doubling,  ///< RDAAS: scatter, then all-gather by recursive doubling; for a power of two of nodes.
  ring,                ///< RingAAS: scatter, then all-gather around a ring; long messages.
};

/// The same at every member. What is left at its initial value is chosen by the cost model, or by the environment
/// (CORACLE_BROADCAST).
struct BroadcastChoice {
  BroadcastMethod method = BroadcastMethod::automatic;
  BroadcastTree tree = BroadcastTree::automatic;
  std::size_t chunk_bytes = 0;  ///< Of a pipeline's pieces.
  std::uint32_t depth = 0;      ///< Pieces on the way to one node at a time.
  std::uint32_t fan_out = 0;    ///< How many local members copy from the same buffer.

  bool operator==(const BroadcastChoice&) const = default;
};

/// The same at every member. Not every collective has each of them: giving one that it does not have is a programmer's
/// mistake (collectives/choice/model.hpp lists those that there are). What goes on inside a node does not depend on it.
enum class Algorithm : std::uint8_t {
  automatic,  ///< By the environment (CORACLE_ALL_REDUCE and so on), or else by the cost model.
  linear,     ///< Straight between the root and each other: nothing is forwarded.
  binomial,   ///< A tree: log2 P steps.
  doubling,   ///< Everyone exchanges all it has with partners at distances that double: log2 P steps.
  halving,    ///< Recursive halving, then the way back to where it is needed: 2 log2 P steps, few bytes.
  ring,       ///< P - 1 steps with a block each; an all_reduce first sums up the blocks pair by pair.
  bruck,      ///< log2 P steps, in each of which many blocks go on together.
  pairwise,   ///< P - 1 exchanges of one block, each with another partner.
};

}  // namespace coracle::internals
