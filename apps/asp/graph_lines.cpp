// Words of the formats that declare what comes: DIMACS shortest-path files (.gr), as the road networks of the 9th
// DIMACS implementation challenge come, and Matrix Market coordinate files (.mtx), adjacency matrices, as the
// SuiteSparse collection keeps its graphs.
#include "apps/asp/graph_lines.hpp"

#include <fmt/format.h>

#include <cctype>
#include <optional>

#include "apps/asp/readers.hpp"

namespace coracle::asp {

std::size_t DeclaredLines::take_vertices(TextLines& lines, std::string_view field) const {
  return lines.whole_number(field, 1, vertices_max_);
}

void DeclaredLines::take_arcs(TextLines& lines, std::size_t vertices) {
  arcs_ = lines.whole_number(fmt::format("number of {}", noun_), 0, std::size_t{1} << 40);
  lines.expect_end_of_line();
  vertices_ = vertices;
  has_sizes_ = true;
}

void DeclaredLines::count_arc(const TextLines& lines, std::string_view remedy) {
  if (seen_ == arcs_) lines.fail(fmt::format("more {} than the {} declared", noun_, arcs_), remedy);
  ++seen_;
}

void DeclaredLines::check_all_came(const TextLines& lines) const {
  if (seen_ == arcs_) return;
  lines.fail(fmt::format("the file ends after {} of {} {}", seen_, arcs_, noun_),
             "it seems cut off: get the whole file again");
}

void DimacsLines::take_sizes(TextLines& lines) {
  if (has_sizes()) lines.fail("a second problem line", "keep only one `p sp VERTICES ARCS`");
  const std::string_view kind = lines.required_word("problem kind");
  if (kind != "sp") {
    lines.fail(fmt::format("the problem kind is {}", in_quotes(kind)),
               "only shortest-path files (`p sp ...`) are read");
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
    lines.fail(fmt::format("the line starts with {}", in_quotes(*kind)), "lines of a .gr file start with c, p or a");
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

namespace {

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

void MatrixMarketLines::take_header(TextLines& lines) {
  if (lower(lines.required_word("%%MatrixMarket")) != "%%matrixmarket" ||
      lower(lines.required_word("object")) != "matrix") {
    lines.fail("the first line is no `%%MatrixMarket matrix ...`", "check that the file is in Matrix Market format");
  }
  const std::string layout = lower(lines.required_word("layout"));
  const std::string field = lower(lines.required_word("field"));
  const std::string symmetry = lower(lines.required_word("symmetry"));
  if (layout != "coordinate") {
    lines.fail(fmt::format("the layout is {}", in_quotes(layout)), "only `coordinate` matrices are read as graphs");
  }
  if (field != "real" && field != "integer" && field != "pattern") {
    lines.fail(fmt::format("the field is {}", in_quotes(field)), "weights are `real`, `integer` or `pattern` (all 1)");
  }
  if (symmetry != "general" && symmetry != "symmetric") {
    lines.fail(fmt::format("the symmetry is {}", in_quotes(symmetry)), "only `general` and `symmetric` are read");
  }
  lines.expect_end_of_line();
  has_header_ = true;
  has_weights_ = field != "pattern";
  if (symmetry == "symmetric") make_symmetric();
}

void MatrixMarketLines::take_sizes(TextLines& lines) {
  const std::size_t rows = take_vertices(lines, "number of rows");
  const std::size_t columns = take_vertices(lines, "number of columns");
  take_arcs(lines, rows);
  if (rows != columns) {
    lines.fail(fmt::format("the matrix is {} x {}", rows, columns), "a graph's adjacency matrix is square");
  }
}

ArcLine MatrixMarketLines::take_entry(TextLines& lines) {
  count_arc(lines, "correct the line of sizes");
  ArcLine entry;
  entry.source = lines.whole_number("row", 1, vertices());
  entry.target = lines.whole_number("column", 1, vertices());
  if (has_weights_) entry.weight = lines.required_word("value");
  lines.expect_end_of_line();
  return entry;
}

std::optional<ArcLine> MatrixMarketLines::take(TextLines& lines) {
  if (!has_header_) {
    take_header(lines);
    return std::nullopt;
  }
  const std::size_t begin = lines.line().find_first_not_of(" \t");
  if (begin == std::string_view::npos || lines.line()[begin] == '%') return std::nullopt;
  if (has_sizes()) return take_entry(lines);
  take_sizes(lines);
  return std::nullopt;
}

void MatrixMarketLines::finish(const TextLines& lines) const {
  if (!has_sizes()) lines.fail("the file ends before its sizes", "it seems cut off: get the whole file again");
  check_all_came(lines);
}

Graph parse_matrix_market(const std::string& name, std::string_view text) {
  return parse_declared<MatrixMarketLines>(name, text);
}

}  // namespace coracle::asp
