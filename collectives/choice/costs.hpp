// Costs: what moving bytes costs on the two levels of a job, as the choice of algorithms sees it. By LogGP between
// nodes (Alexandrov, Ionescu, Schauser, Scheiman, SPAA 1995); inside a node, by flags and copies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace coracle::internals {

class Rank;

struct Costs {
  /// Ranks of one node, which copy from each other's memory.
  struct Inside {
    double latency_ns = 100;             ///< From a local member's word until who waits for it goes on.
    double flag_ns = 50;                 ///< What a word costs who says it, and who reads it.
    double bandwidth_bytes_per_ns = 10;  ///< Of one rank that copies.
    double readers = 4;       ///< How many ranks copy from the same buffer at a time, before they share the bandwidth.
    double message_ns = 700;  ///< A message of a collective that goes by messages.
  };
  /// Ranks of two nodes, by puts.
  struct Between {
    double latency_ns = 15'000;
    double overhead_ns = 2'000;  ///< Of a message, for its sender's processor.
    double gap_ns = 2'000;       ///< Least time between two messages of a node.
    double bandwidth_bytes_per_ns = 5;
  };
  Inside inside;
  Between between;
  /// By how much the members' arrivals are taken to differ: uniformly in [0, this].
  double arrival_spread_ns = 10'000;

  /// By the traits of the transports to a rank of this node and to one of another: the same at every rank of a job.
  static Costs of_transports(Rank& rank);
};

/// One of the values that Costs has, as files name it.
struct CostField {
  std::string_view name;  ///< Such as "inside.latency_ns".
  double& (*of)(Costs& costs);
  double least;
  double most;
};
std::span<const CostField> cost_fields() noexcept;

/// Sets the field with this name. Throws Error (bad_input) for an unknown name or a value that makes no sense.
void set_cost(Costs& costs, std::string_view name, std::string_view value);

}  // namespace coracle::internals
