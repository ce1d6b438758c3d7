// The program: loads a graph, builds it, searches it from each root, and verifies what was found.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "apps/bfs/input.hpp"
#include "apps/bfs/options.hpp"
#include "apps/bfs/paged_graph.hpp"
#include "apps/bfs/report.hpp"
#include "apps/bfs/search.hpp"
#include "apps/bfs/verify.hpp"
#include "apps/common/progress.hpp"

namespace coracle::bfs {

/// One rank's view. Every step ends at all ranks together: well, or by Agreed.
class Traversal {
 public:
  Traversal(Rank& self, const Options& options);
  /// Collective, once. The report is whole at rank 0.
  Task<Report> run();

 private:
  Task<std::vector<Vertex>> choose_roots();
  Task<> find_root(Vertex& root);
  Task<std::vector<Vertex>> draw_roots();
  Task<> search_from(Search& search, Vertex root);
  Task<> load_into_memory();
  Task<> verify(Search& search, Vertex root);
  Task<> check(Vertex root, const std::vector<std::uint32_t>& levels, const std::vector<Vertex>& parents);
  Task<> sum_counts(PagedCounts before);

  Rank& self_;
  const Options& options_;
  ProgressLine progress_;
  Input input_;
  std::unique_ptr<PagedGraph> graph_;
  std::unique_ptr<MemoryGraph> in_memory_;  // at rank 0, to verify
  Report report_;
};

}  // namespace coracle::bfs
