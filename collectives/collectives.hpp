// All collectives: the members of Team.
#pragma once

#include "collectives/exchanges.hpp"
#include "collectives/reductions.hpp"
#include "collectives/values.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {

class Rank;

/// A job's last collective: returns when every rank's program has ended, so that nobody goes while a peer still needs
/// it.
Task<> finalize_job(Rank& rank);

}  // namespace coracle::internals
