// DIMACS shortest-path files (.gr), as the road networks of the 9th DIMACS implementation challenge come.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "apps/asp/readers.hpp"
#include "apps/asp/text_lines.hpp"

namespace coracle::asp {
namespace {

struct Sizes {
  std::size_t vertices;
  std::size_t arcs;
};

Sizes read_problem_line(TextLines& lines) {
  const std::string_view kind = lines.required_word("problem kind");
  if (kind != "sp") {
    lines.fail(fmt::format("the problem kind is {}", quoted(kind)), "only shortest-path files (`p sp ...`) are read");
  }
  const std::size_t vertices = lines.whole_number("number of vertices", 1, kVerticesMax);
  const std::size_t arcs = lines.whole_number("number of arcs", 0, std::size_t{1} << 40);
  lines.expect_end_of_line();
  return {vertices, arcs};
}

Arc read_arc_line(TextLines& lines, std::size_t vertices) {
  const std::size_t source = lines.whole_number("arc's start", 1, vertices);
  const std::size_t target = lines.whole_number("arc's end", 1, vertices);
  const float weight = lines.weight(lines.required_word("weight"));
  lines.expect_end_of_line();
  return {static_cast<Vertex>(source - 1), static_cast<Vertex>(target - 1), weight};
}

}  // namespace

Graph parse_dimacs(const std::string& name, std::string_view text) {
  TextLines lines(name, text);
  std::optional<Sizes> sizes;
  std::vector<Arc> arcs;
  while (lines.next()) {
    const std::optional<std::string_view> kind = lines.word();
    if (!kind || kind->starts_with('c')) continue;
    if (*kind == "p") {
      if (sizes) lines.fail("a second problem line", "keep only one `p sp VERTICES ARCS`");
      sizes = read_problem_line(lines);
      arcs.reserve(std::min(sizes->arcs, lines.lines_possible(8)));
    } else if (*kind == "a") {
      if (!sizes) lines.fail("an arc before the problem line", "put `p sp VERTICES ARCS` first");
      if (arcs.size() == sizes->arcs) {
        lines.fail(fmt::format("more arcs than the {} declared", sizes->arcs), "correct the number in the `p sp` line");
      }
      arcs.push_back(read_arc_line(lines, sizes->vertices));
    } else {
      lines.fail(fmt::format("the line starts with {}", quoted(*kind)), "lines of a .gr file start with c, p or a");
    }
  }
  if (!sizes) lines.fail("the file ends without a problem line", "a .gr file has a line `p sp VERTICES ARCS`");
  if (arcs.size() != sizes->arcs) {
    lines.fail(fmt::format("the file ends after {} of {} arcs", arcs.size(), sizes->arcs),
               "it seems cut off: get the whole file again");
  }
  return Graph(sizes->vertices, arcs, {}, 1);
}

}  // namespace coracle::asp
