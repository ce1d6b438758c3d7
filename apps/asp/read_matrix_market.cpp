// Matrix Market coordinate files (.mtx): an adjacency matrix, as the SuiteSparse collection keeps its graphs.
#include <fmt/format.h>

#include <cctype>
#include <optional>

#include "apps/asp/graph_lines.hpp"
#include "apps/asp/readers.hpp"

namespace coracle::asp {
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
    lines.fail(fmt::format("the layout is {}", quoted(layout)), "only `coordinate` matrices are read as graphs");
  }
  if (field != "real" && field != "integer" && field != "pattern") {
    lines.fail(fmt::format("the field is {}", quoted(field)), "weights are `real`, `integer` or `pattern` (all 1)");
  }
  if (symmetry != "general" && symmetry != "symmetric") {
    lines.fail(fmt::format("the symmetry is {}", quoted(symmetry)), "only `general` and `symmetric` are read");
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
