// What the ranks find about their rows, brought together: verification, summary, and where the time went.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/asp/graph.hpp"
#include "apps/asp/owned_rows.hpp"
#include "apps/asp/report.hpp"
#include "apps/asp/solver.hpp"
#include "apps/asp/summary.hpp"

namespace coracle::asp {

/// Collective. Rank 0's `graph`, for all, though without names elsewhere; the others' arguments are not looked at.
Task<Graph> share_graph(Rank& self, Graph graph);

struct Verification {
  std::size_t sources = 0;
  bool is_exact = true;
};

/// Collective. Compares up to `sources` rows, drawn by `seed`, with Dijkstra's; each rank its own rows. Throws Error
/// where they differ.
Task<Verification> verify(Rank& self, const Graph& graph, const OwnedRows& rows, std::size_t sources,
                          std::uint64_t seed);

/// Collective. The summary of all rows; complete on rank 0 only.
Task<Summary> summarise(Rank& self, const OwnedRows& rows);

/// Collective. Of all ranks' arrivals, iteration by iteration, at rank 0; elsewhere nothing.
Task<std::vector<double>> gather_arrivals(Rank& self, const std::vector<double>& arrivals_s);

/// Collective. Fills the times and rates of `report`.
Task<> gather_effort(Rank& self, Effort effort, Report& report);

}  // namespace coracle::asp
