// DIMACS shortest-path files (.gr), as the road networks of the 9th DIMACS implementation challenge come.
#include <fmt/format.h>

#include <optional>

#include "apps/asp/graph_lines.hpp"
#include "apps/asp/readers.hpp"

namespace coracle::asp {

void DimacsLines::take_sizes(TextLines& lines) {
  if (has_sizes()) lines.fail("a second problem line", "keep only one `p sp VERTICES ARCS`");
  const std::string_view kind = lines.required_word("problem kind");
  if (kind != "sp") {
    lines.fail(fmt::format("the problem kind is {}", quoted(kind)), "only shortest-path files (`p sp ...`) are read");
  }
  const std::size_t vertices = take_vertices(lines, "number of vertices");
  take_arcs(lines, vertices);
}

ArcLine DimacsLines::take_arc(TextLines& lines) {
  if (!has_sizes()) lines.fail("an arc before the problem line", "put `p sp VERTICES ARCS` first");
  count_arc(lines, "correct the number in the `p sp` line");
  ArcLine arc;
  arc.source = lines.whole_number("arc's start", 1, vertices());
  arc.target = lines.whole_number("arc's end", 1, vertices());
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
  if (!has_sizes()) lines.fail("the file ends without a problem line", "a .gr file has a line `p sp VERTICES ARCS`");
  check_all_came(lines);
}

Graph parse_dimacs(const std::string& name, std::string_view text) {
  return parse_declared<DimacsLines>(name, text);
}

}  // namespace coracle::asp
