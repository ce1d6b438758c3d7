// Teams and their collectives; how these go is chosen, and told, here.
#pragma once

#include "collectives/choice/tuning.hpp"
#include "collectives/collectives.hpp"
#include "collectives/data/reduction.hpp"
#include "runtime/team/choices.hpp"
#include "runtime/team/team.hpp"
#include "runtime/team/team_nodes.hpp"

namespace coracle {

using internals::Algorithm;
using internals::BroadcastChoice;
using internals::BroadcastMethod;
using internals::BroadcastTree;
using internals::commutative;
using internals::max_of;
using internals::min_of;
using internals::parse_broadcast_choice;
using internals::Participation;
using internals::Team;
using internals::TeamNodes;
using internals::Tuning;

}  // namespace coracle
