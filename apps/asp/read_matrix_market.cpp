// Matrix Market coordinate files (.mtx): an adjacency matrix, as the SuiteSparse collection keeps its graphs.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "apps/asp/readers.hpp"
#include "apps/asp/text_lines.hpp"

namespace coracle::asp {
namespace {

struct Header {
  bool has_weights;
  bool is_symmetric;
};

struct Sizes {
  std::size_t vertices;
  std::size_t entries;
};

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Header read_header(TextLines& lines) {
  lines.next();
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
  return {field != "pattern", symmetry == "symmetric"};
}

// Goes to the next line that holds an entry or the sizes.
bool next_content(TextLines& lines) {
  while (lines.next()) {
    const std::size_t begin = lines.line().find_first_not_of(" \t");
    if (begin != std::string_view::npos && lines.line()[begin] != '%') return true;
  }
  return false;
}

Sizes read_sizes(TextLines& lines) {
  if (!next_content(lines)) lines.fail("the file ends before its sizes", "it seems cut off: get the whole file again");
  const std::size_t rows = lines.whole_number("number of rows", 1, kVerticesMax);
  const std::size_t columns = lines.whole_number("number of columns", 1, kVerticesMax);
  const std::size_t entries = lines.whole_number("number of entries", 0, std::size_t{1} << 40);
  lines.expect_end_of_line();
  if (rows != columns) {
    lines.fail(fmt::format("the matrix is {} x {}", rows, columns), "a graph's adjacency matrix is square");
  }
  return {rows, entries};
}

}  // namespace

Graph parse_matrix_market(const std::string& name, std::string_view text) {
  TextLines lines(name, text);
  const Header header = read_header(lines);
  const Sizes sizes = read_sizes(lines);
  std::vector<Arc> arcs;
  arcs.reserve(std::min(sizes.entries, lines.lines_possible(4)));
  std::size_t entries = 0;
  while (next_content(lines)) {
    if (entries++ == sizes.entries) {
      lines.fail(fmt::format("more entries than the {} declared", sizes.entries), "correct the line of sizes");
    }
    const auto row = static_cast<Vertex>(lines.whole_number("row", 1, sizes.vertices) - 1);
    const auto column = static_cast<Vertex>(lines.whole_number("column", 1, sizes.vertices) - 1);
    const float weight = header.has_weights ? lines.weight(lines.required_word("value")) : 1.0F;
    lines.expect_end_of_line();
    arcs.push_back({row, column, weight});
    if (header.is_symmetric && row != column) arcs.push_back({column, row, weight});
  }
  if (entries != sizes.entries) {
    lines.fail(fmt::format("the file ends after {} of {} entries", entries, sizes.entries),
               "it seems cut off: get the whole file again");
  }
  return Graph(sizes.vertices, arcs, {}, 1);
}

}  // namespace coracle::asp
