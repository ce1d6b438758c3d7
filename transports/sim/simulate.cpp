// From a job's region to its end in virtual time.
#include "transports/sim/simulate.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/core/error.hpp"
#include "transports/sim/simulation.hpp"

namespace coracle::internals {
namespace {

void print(const sim::SimulationResult& outcome) {
  try {
    std::rethrow_exception(outcome.error);
  } catch (const std::exception& error) {
    if (outcome.of_all)
      std::fprintf(stderr, "coracle: %s\n", error.what());
    else
      print_failure(outcome.rank);
  } catch (...) {
    print_failure(outcome.rank);
  }
}

void print_how_to_repeat(const JobShape& shape) {
  std::string options;
  if (shape.network_file[0] != '\0') options += fmt::format(" --network {}", shape.network_file.data());
  const std::uint64_t limit_ns = shape.network.silence_limit_ns;
  if (limit_ns != NetworkOptions().silence_limit_ns) options += fmt::format(" --silence {}ms", limit_ns / 1'000'000);
  if (shape.network.transport == RemoteTransport::tca) options += " --transport tca";
  if (shape.network.survive) options += " --survive";
  if (shape.faults[0] != '\0') options += fmt::format(" --faults {}", shape.faults.data());
  std::fputs(fmt::format("coracle: seed {} repeats this (coracle run --place sim -n {} --nodes {} --seed {}{} ...)\n",
                         shape.seed, shape.size, shape.nodes, shape.seed, options)
                 .c_str(),
             stderr);
}

/// What has gone wrong by the plan: whoever reads of a loss should know why.
void print_faults(const sim::FaultPlan& faults, std::uint64_t end_ns) {
  for (const sim::Fault& fault : faults)
    if (fault.at_ns <= end_ns) std::fprintf(stderr, "coracle: fault: %s\n", to_text(fault).c_str());
}

}  // namespace

int simulate(const JobRegion& region, const App& app, const Wiring& wiring) {
  const JobShape& shape = region.shape();
  const sim::NetworkModel model = sim::read_network(shape.network_file.data());
  const sim::FaultPlan faults = sim::read_faults(shape.faults.data(), shape);
  sim::Simulation simulation(region, app, wiring, model, faults);
  const sim::SimulationResult outcome = simulation.run();
  print_faults(faults, outcome.virtual_ns);
  if (!outcome.error) return 0;
  print(outcome);
  print_how_to_repeat(shape);
  // The other ranks' coroutines stand in the middle of things and wait for each other; they can't be destroyed in any
  // order that suits them, so the process ends around them.
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace coracle::internals
