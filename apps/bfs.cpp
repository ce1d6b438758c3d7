// Breadth-first search in a graph larger than memory. apps/bfs/search.cpp is the heart; apps/bfs/paged_graph.cpp builds
// what it searches.
#include <coracle/coracle.hpp>

#include "apps/bfs/options.hpp"
#include "apps/bfs/report.hpp"
#include "apps/bfs/traversal.hpp"
#include "apps/common/agreement.hpp"
#include "apps/common/program.hpp"

namespace coracle::bfs {
namespace {

Task<> traverse(Rank& self, const Options& options) {
  Traversal traversal(self, options);
  tell(self, co_await traversal.run(), options);
}

Task<> run_all(Rank& self, const Options& options) {
  return run_agreed(self, traverse(self, options));
}

}  // namespace
}  // namespace coracle::bfs

int main(int argc, char** argv) {
  return coracle::start(argc, argv, coracle::bfs::parse_options(argc, argv), coracle::bfs::run_all);
}
