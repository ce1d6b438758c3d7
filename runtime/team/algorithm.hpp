// Algorithm: in which way a collective other than broadcast goes between nodes, as far as the caller wants to say.
#pragma once

#include <cstdint>

namespace coracle::internals {

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
