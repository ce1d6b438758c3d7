// BroadcastChoice: how a broadcast goes, as far as the caller wants to say.
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

}  // namespace coracle::internals
