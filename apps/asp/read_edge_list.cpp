// Plain edge lists, as SNAP and many scripts write them.
#include <fmt/format.h>

#include "apps/asp/name_table.hpp"
#include "apps/asp/readers.hpp"
#include "apps/asp/text_lines.hpp"

namespace coracle::asp {

Graph parse_edge_list(const std::string& name, std::string_view text) {
  TextLines lines(name, text);
  NameTable vertices;
  std::vector<Arc> arcs;
  while (lines.next()) {
    const std::optional<std::string_view> source = lines.word();
    if (!source || source->starts_with('#') || source->starts_with('%')) continue;
    const std::string_view target = lines.required_word("arc's end");
    const std::optional<std::string_view> weight = lines.word();
    lines.expect_end_of_line();
    const Vertex from = vertices.number(*source);
    const Vertex to = vertices.number(target);
    if (vertices.size() > kVerticesMax) {
      lines.fail(fmt::format("more than {} vertices", kVerticesMax),
                 "all-pairs distances of such a graph fit no memory");
    }
    arcs.push_back({from, to, weight ? lines.weight(*weight) : 1.0F});
  }
  if (arcs.empty()) lines.fail("the file ends without an edge", "write one edge per line: FROM TO [WEIGHT]");
  const std::size_t count = vertices.size();
  return Graph(count, arcs, std::move(vertices).take_names());
}

}  // namespace coracle::asp
