// All collectives: the members of Team.
#pragma once

#include "collectives/all_reduce.hpp"
#include "collectives/broadcast.hpp"
#include "collectives/gather_all.hpp"
#include "runtime/boot.hpp"

namespace coracle {

/// A job's last collective: returns when every rank's program has ended, so that nobody goes while a peer still needs
/// it.
Task<> say_farewell(Rank& rank);

}  // namespace coracle
