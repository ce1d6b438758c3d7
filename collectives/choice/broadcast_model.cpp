// The choice: by the caller, the environment, or the cost model.
#include "collectives/choice/broadcast_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "collectives/choice/tuning.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

BroadcastChoice choose_broadcast(const Team& team, std::size_t bytes, const BroadcastChoice& wanted) {
  const std::uint32_t nodes = team.nodes().count();
  if (wanted.tree == BroadcastTree::recursive_doubling && !std::has_single_bit(nodes))
    throw Error(Errc::bad_input, fmt::format("broadcast: recursive doubling needs a power of two of nodes, and the "
                                             "team has {}; ask for the ring or the binomial tree",
                                             nodes));
  BroadcastChoice choice = team.rank().local<Tuning>().broadcast(team.nodes(), bytes, wanted);
  if (choice.method == BroadcastMethod::plain) choice.chunk_bytes = std::max<std::size_t>(bytes, 1);
  return choice;
}

}  // namespace coracle::internals
