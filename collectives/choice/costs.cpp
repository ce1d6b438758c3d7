// The values of Costs by name, and where they come from when nothing has been measured.
#include "collectives/choice/costs.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

/// One of the values that Costs has, as files name it.
struct CostField {
  std::string_view name;
  double& (*of)(Costs& costs);
  double least;
  double most;
};

constexpr CostField kFields[] = {
    {"inside.latency_ns", [](Costs& costs) -> double& { return costs.inside.latency_ns; }, 0, 1e9},
    {"inside.flag_ns", [](Costs& costs) -> double& { return costs.inside.flag_ns; }, 0, 1e9},
    {"inside.bandwidth_bytes_per_ns", [](Costs& costs) -> double& { return costs.inside.bandwidth_bytes_per_ns; }, 1e-6,
     1e6},
    {"inside.readers", [](Costs& costs) -> double& { return costs.inside.readers; }, 1, 1e6},
    {"inside.message_ns", [](Costs& costs) -> double& { return costs.inside.message_ns; }, 0, 1e9},
    {"between.latency_ns", [](Costs& costs) -> double& { return costs.between.latency_ns; }, 0, 1e9},
    {"between.overhead_ns", [](Costs& costs) -> double& { return costs.between.overhead_ns; }, 0, 1e9},
    {"between.gap_ns", [](Costs& costs) -> double& { return costs.between.gap_ns; }, 0, 1e9},
    {"between.bandwidth_bytes_per_ns", [](Costs& costs) -> double& { return costs.between.bandwidth_bytes_per_ns; },
     1e-6, 1e6},
    {"arrival_spread_ns", [](Costs& costs) -> double& { return costs.arrival_spread_ns; }, 0, 1e12},
};

}  // namespace

Costs Costs::of_transports(Rank& rank) {
  Costs costs;
  const TransportTraits within = rank.core().transport().traits_to(rank.id());
  costs.inside.latency_ns = within.latency_ns;
  // A copy that is no plain load asks the other side for it.
  costs.inside.flag_ns = within.by_load_store ? within.overhead_ns : 2 * within.latency_ns;
  costs.inside.bandwidth_bytes_per_ns = within.bandwidth_bytes_per_ns;
  costs.inside.readers = within.readers;
  // To be sent, matched and received; and where ranks share cores, each waits for its turn.
  constexpr double kMailboxNs = 600;
  constexpr double kTurnNs = 5000;
  costs.inside.message_ns = within.latency_ns + kMailboxNs + (rank.loop().spins() ? 0 : kTurnNs);
  if (rank.nodes() == 1) return costs;
  const std::uint32_t stranger = rank.node() == 0 ? rank.size() - 1 : 0;
  const TransportTraits across = rank.core().transport_to(stranger).traits_to(stranger);
  costs.between = {across.latency_ns - across.overhead_ns, across.overhead_ns, across.gap_ns,
                   across.bandwidth_bytes_per_ns};
  return costs;
}

double set_cost(Costs& costs, std::string_view name, std::string_view value) {
  for (const CostField& field : kFields) {
    if (field.name != name) continue;
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    // NaN fails the comparisons.
    if (error != std::errc() || end != value.data() + value.size() || !(number >= field.least && number <= field.most))
      throw Error(Errc::bad_input,
                  fmt::format("{}={:?}: expected a number from {:g} to {:g}", name, value, field.least, field.most));
    return field.of(costs) = number;
  }
  std::string known;
  for (const CostField& field : kFields) known += fmt::format("{}{}", known.empty() ? "" : ", ", field.name);
  throw Error(Errc::bad_input, fmt::format("unknown name {:?}; there are {}", name, known));
}

}  // namespace coracle::internals
