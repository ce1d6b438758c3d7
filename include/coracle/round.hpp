// What collectives of one's own are made of beside puts and signals: a round in the node area of a team's node.
#pragma once

#include "runtime/team/node_area.hpp"

namespace coracle {

using internals::Round;

}  // namespace coracle
