// The end of a job.
#include "collectives/collectives.hpp"
#include "runtime/rank.hpp"

namespace coracle {

Task<> say_farewell(Rank& rank) {
  co_await rank.world().barrier();
}

}  // namespace coracle
