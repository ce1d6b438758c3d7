// What is chosen for a broadcast where the caller leaves it open.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/broadcast_choice.hpp"
#include "runtime/team.hpp"

namespace coracle::internals {

/// So many of a node's ranks compete for leading it, at most: the senders must be told where to send, and they tell
/// each. The first of 8 comes K/90 late on average where arrivals are uniform in [0, K]; more would gain less than they
/// cost.
inline constexpr std::uint32_t kCompetitorsMax = 8;

/// Fills in what is automatic in `wanted`. The same at every member. Throws Error (bad_input) for what can't be:
/// recursive doubling over a number of nodes that is no power of two.
BroadcastChoice choose_broadcast(const Team& team, std::size_t bytes, const BroadcastChoice& wanted);

/// Whether it goes ahead without asking where the receivers want it: it is copied more than once.
bool is_short_broadcast(std::uint32_t nodes, std::size_t bytes, const BroadcastChoice& choice) noexcept;

}  // namespace coracle::internals
