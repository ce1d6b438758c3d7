// What all broadcasts keep to, whatever is chosen: the model reckons with it, and the broadcasts do so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/messages/mailbox.hpp"
#include "runtime/team/choices.hpp"

namespace coracle::internals {

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
