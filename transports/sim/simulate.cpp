// From a job's region to its end in virtual time.
#include "transports/sim/simulate.hpp"

#include <cstdio>
#include <cstdlib>

#include "runtime/error.hpp"
#include "transports/sim/world.hpp"

namespace coracle {
namespace {

bool is_deadlock(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& what) {
    return what.code() == Errc::deadlock;
  } catch (...) {
    return false;
  }
}

void print(const sim::Outcome& outcome, const JobShape& shape) {
  try {
    std::rethrow_exception(outcome.error);
  } catch (const std::exception& error) {
    if (is_deadlock(outcome.error))
      std::fprintf(stderr, "coracle: %s\n", error.what());
    else
      print_failure(outcome.rank);
  } catch (...) {
    print_failure(outcome.rank);
  }
  const char* network = shape.network_file.data();
  std::fprintf(stderr,
               "coracle: seed %llu repeats this (coracle run --place sim -n %u --nodes %u --seed %llu%s%s ...)\n",
               static_cast<unsigned long long>(shape.seed), shape.size, shape.nodes,
               static_cast<unsigned long long>(shape.seed), *network == '\0' ? "" : " --network ", network);
}

}  // namespace

int simulate(const JobRegion& region, const App& app, const Wiring& wiring) {
  const JobShape& shape = region.shape();
  const sim::NetworkModel model = sim::read_network(shape.network_file.data());
  sim::World world(region, app, wiring, model);
  const sim::Outcome outcome = world.run();
  if (!outcome.error) return 0;
  print(outcome, shape);
  // The other ranks' coroutines stand in the middle of things and wait for each other; they can't be destroyed in any
  // order that suits them, so the process ends around them.
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace coracle
