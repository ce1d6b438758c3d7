// Breadth-first search in a graph larger than memory. apps/bfs/search.cpp is the heart; apps/bfs/paged_graph.cpp builds
// what it searches.
#include <fmt/core.h>
#include <coracle/coracle.hpp>

#include <variant>

#include "apps/agreement.hpp"
#include "apps/bfs/options.hpp"
#include "apps/bfs/report.hpp"
#include "apps/bfs/traversal.hpp"
#include "apps/command_line.hpp"
#include "apps/file.hpp"

namespace coracle::bfs {
namespace {

Task<> traverse(Rank& self, const Options& options) {
  Traversal traversal(self, options);
  const Report report = co_await traversal.run();
  if (self.id() != 0) co_return;
  if (!options.quiet) fmt::print("{}", to_text(report));
  if (!options.json_path.empty()) write_text(to_json(report), options.json_path);
}

int start(int argc, char** argv) {
  const std::variant<Options, int> parsed = parse_options(argc, argv);
  if (const int* const status = std::get_if<int>(&parsed)) return leave(argc, argv, *status);
  const Options& options = std::get<Options>(parsed);
  return run(argc, argv, [&options](Rank& self) { return run_agreed(self, traverse(self, options)); });
}

}  // namespace
}  // namespace coracle::bfs

int main(int argc, char** argv) {
  return coracle::bfs::start(argc, argv);
}
