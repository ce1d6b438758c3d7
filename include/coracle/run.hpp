// run: from main() to the ranks of a job.
#pragma once

#include "collectives/run.hpp"
#include "runtime/rank/app.hpp"

namespace coracle {

using internals::App;

}  // namespace coracle
