// Matrix Market coordinate files (.mtx): an adjacency matrix, as the SuiteSparse collection keeps its graphs.
#include <fmt/format.h>

#include <algorithm>
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
  is_symmetric_ = symmetry == "symmetric";
}

void MatrixMarketLines::take_sizes(TextLines& lines) {
  const std::size_t rows = lines.whole_number("number of rows", 1, vertices_max_);
  const std::size_t columns = lines.whole_number("number of columns", 1, vertices_max_);
  entries_ = lines.whole_number("number of entries", 0, std::size_t{1} << 40);
  lines.expect_end_of_line();
  if (rows != columns) {
    lines.fail(fmt::format("the matrix is {} x {}", rows, columns), "a graph's adjacency matrix is square");
  }
  vertices_ = rows;
  has_sizes_ = true;
}

ArcLine MatrixMarketLines::take_entry(TextLines& lines) {
  if (seen_ == entries_) {
    lines.fail(fmt::format("more entries than the {} declared", entries_), "correct the line of sizes");
  }
  ++seen_;
  ArcLine entry;
  entry.source = lines.whole_number("row", 1, vertices_);
  entry.target = lines.whole_number("column", 1, vertices_);
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
  if (has_sizes_) return take_entry(lines);
  take_sizes(lines);
  return std::nullopt;
}

void MatrixMarketLines::finish(const TextLines& lines) const {
  if (!has_sizes_) lines.fail("the file ends before its sizes", "it seems cut off: get the whole file again");
  if (seen_ != entries_) {
    lines.fail(fmt::format("the file ends after {} of {} entries", seen_, entries_),
               "it seems cut off: get the whole file again");
  }
}

Graph parse_matrix_market(const std::string& name, std::string_view text) {
  TextLines lines(name, text);
  MatrixMarketLines matrix(kVerticesMax);
  std::vector<Arc> arcs;
  while (lines.next()) {
    const std::optional<ArcLine> entry = matrix.take(lines);
    if (!entry) continue;
    if (arcs.empty()) arcs.reserve(std::min(matrix.entries(), lines.lines_possible(4)));
    const auto row = static_cast<Vertex>(entry->source - 1);
    const auto column = static_cast<Vertex>(entry->target - 1);
    const float weight = entry->weight.empty() ? 1.0F : lines.weight(entry->weight);
    arcs.push_back({row, column, weight});
    if (matrix.is_symmetric() && row != column) arcs.push_back({column, row, weight});
  }
  matrix.finish(lines);
  return Graph(matrix.vertices(), arcs, {}, 1);
}

}  // namespace coracle::asp
