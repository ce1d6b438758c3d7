// What all broadcasts keep to, whatever is chosen: the model reckons with it, and the broadcasts do so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/team/broadcast_choice.hpp"

namespace coracle::internals {

/// So many of a node's ranks compete for leading it, at most: the senders must be told where to send, and they tell
/// each. The first of 8 comes K/90 late on average where arrivals are uniform in [0, K]; more would gain less than they
/// cost.
inline constexpr std::uint32_t kCompetitorsMax = 8;

/// Whether it goes ahead without asking where the receivers want it: it is copied more than once.
bool is_short_broadcast(std::uint32_t nodes, std::size_t bytes, const BroadcastChoice& choice) noexcept;

}  // namespace coracle::internals
