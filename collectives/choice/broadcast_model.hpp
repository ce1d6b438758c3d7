// What is chosen for a broadcast where the caller leaves it open.
#pragma once

#include <cstddef>

#include "runtime/team/broadcast_choice.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Fills in what is automatic in `wanted`. The same at every member. Throws Error (bad_input) for what can't be:
/// recursive doubling over a number of nodes that is no power of two.
BroadcastChoice choose_broadcast(const Team& team, std::size_t bytes, const BroadcastChoice& wanted);

}  // namespace coracle::internals
