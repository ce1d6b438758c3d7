// The choice.
#include "collectives/broadcast_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "collectives/mailbox.hpp"
#include "runtime/error.hpp"
#include "runtime/rank.hpp"

namespace coracle {

BroadcastChoice choose_broadcast(const Team& team, std::size_t bytes, const BroadcastChoice& wanted) {
  constexpr std::size_t kShort = 8192;
  constexpr std::size_t kMedium = 128 * 1024;
  const std::uint32_t nodes = team.nodes().count();
  BroadcastChoice choice = wanted;
  if (choice.tree == BroadcastTree::recursive_doubling && !std::has_single_bit(nodes))
    throw Error(Errc::bad_input, fmt::format("broadcast: recursive doubling needs a power of two of nodes, and the "
                                             "team has {}; ask for the ring or the binomial tree",
                                             nodes));
  if (choice.method == BroadcastMethod::automatic)
    choice.method = bytes <= kShort ? BroadcastMethod::pipelined : BroadcastMethod::competitive;
  if (choice.tree == BroadcastTree::automatic) {
    choice.tree = BroadcastTree::binomial;
    if (bytes > kShort)
      choice.tree = std::has_single_bit(nodes) ? BroadcastTree::recursive_doubling : BroadcastTree::ring;
    if (bytes > kMedium || nodes == 2) choice.tree = nodes == 2 ? BroadcastTree::binomial : BroadcastTree::ring;
  }
  if (choice.chunk_bytes == 0) choice.chunk_bytes = 64 * 1024;
  if (choice.method == BroadcastMethod::plain) choice.chunk_bytes = std::max<std::size_t>(bytes, 1);
  if (choice.depth == 0) choice.depth = 4;
  if (choice.fan_out == 0) choice.fan_out = team.nodes().largest() > 16 ? 4 : 16;
  return choice;
}

}  // namespace coracle
