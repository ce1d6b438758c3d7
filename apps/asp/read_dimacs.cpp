// DIMACS shortest-path files (.gr), as the road networks of the 9th DIMACS implementation challenge come.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "apps/asp/graph_lines.hpp"
#include "apps/asp/readers.hpp"

namespace coracle::asp {

void DimacsLines::take_sizes(TextLines& lines) {
  if (has_sizes_) lines.fail("a second problem line", "keep only one `p sp VERTICES ARCS`");
  const std::string_view kind = lines.required_word("problem kind");
  if (kind != "sp") {
    lines.fail(fmt::format("the problem kind is {}", quoted(kind)), "only shortest-path files (`p sp ...`) are read");
  }
  vertices_ = lines.whole_number("number of vertices", 1, vertices_max_);
  arcs_ = lines.whole_number("number of arcs", 0, std::size_t{1} << 40);
  lines.expect_end_of_line();
  has_sizes_ = true;
}

ArcLine DimacsLines::take_arc(TextLines& lines) {
  if (!has_sizes_) lines.fail("an arc before the problem line", "put `p sp VERTICES ARCS` first");
  if (seen_ == arcs_) {
    lines.fail(fmt::format("more arcs than the {} declared", arcs_), "correct the number in the `p sp` line");
  }
  ++seen_;
  ArcLine arc;
  arc.source = lines.whole_number("arc's start", 1, vertices_);
  arc.target = lines.whole_number("arc's end", 1, vertices_);
  arc.weight = lines.required_word("weight");
  lines.expect_end_of_line();
  return arc;
}

std::optional<ArcLine> DimacsLines::take(TextLines& lines) {
  const std::optional<std::string_view> kind = lines.word();
  if (!kind || kind->starts_with('c')) return std::nullopt;
  if (*kind == "a") return take_arc(lines);
  if (*kind != "p") {
    lines.fail(fmt::format("the line starts with {}", quoted(*kind)), "lines of a .gr file start with c, p or a");
  }
  take_sizes(lines);
  return std::nullopt;
}

void DimacsLines::finish(const TextLines& lines) const {
  if (!has_sizes_) lines.fail("the file ends without a problem line", "a .gr file has a line `p sp VERTICES ARCS`");
  if (seen_ != arcs_) {
    lines.fail(fmt::format("the file ends after {} of {} arcs", seen_, arcs_),
               "it seems cut off: get the whole file again");
  }
}

Graph parse_dimacs(const std::string& name, std::string_view text) {
  TextLines lines(name, text);
  DimacsLines dimacs(kVerticesMax);
  std::vector<Arc> arcs;
  while (lines.next()) {
    const std::optional<ArcLine> arc = dimacs.take(lines);
    if (!arc) continue;
    if (arcs.empty()) arcs.reserve(std::min(dimacs.arcs(), lines.lines_possible(8)));
    arcs.push_back(
        {static_cast<Vertex>(arc->source - 1), static_cast<Vertex>(arc->target - 1), lines.weight(arc->weight)});
  }
  dimacs.finish(lines);
  return Graph(dimacs.vertices(), arcs, {}, 1);
}

}  // namespace coracle::asp
