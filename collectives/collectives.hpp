// All collectives: the members of Team.
#pragma once

#include "collectives/all_reduce.hpp"
#include "collectives/all_to_all.hpp"
#include "collectives/broadcast.hpp"
#include "collectives/gather.hpp"
#include "collectives/gather_all.hpp"
#include "collectives/reduce.hpp"
#include "collectives/reduce_scatter.hpp"
#include "collectives/scan.hpp"
#include "collectives/scatter.hpp"
#include "collectives/values.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {

class Rank;

/// A job's last collective: returns when every rank's program has ended, so that nobody goes while a peer still needs
/// it.
Task<> finalize_job(Rank& rank);

}  // namespace coracle::internals
