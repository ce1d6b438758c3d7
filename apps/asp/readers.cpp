// Chooses the reader.
#include "apps/asp/readers.hpp"

#include <fmt/format.h>

#include <coracle/error.hpp>
#include "apps/asp/text_lines.hpp"
#include "runtime/core/assert.hpp"

namespace coracle::asp {

GraphFormat format_of_path(std::string_view path) noexcept {
  if (path.ends_with(".gr")) return GraphFormat::dimacs;
  if (path.ends_with(".mtx")) return GraphFormat::matrix_market;
  if (path == "status" || path.ends_with("/status")) return GraphFormat::dpkg;
  return GraphFormat::edge_list;
}

Graph read_graph(const std::string& path, GraphFormat format) {
  return parse_graph(path, load_text(path), format);
}

Graph parse_graph(const std::string& name, std::string_view text, GraphFormat format) {
  if (text.empty()) throw Error(Errc::bad_input, fmt::format("{}: the file is empty; give a file with a graph", name));
  switch (format) {
    case GraphFormat::dimacs:
      return parse_dimacs(name, text);
    case GraphFormat::matrix_market:
      return parse_matrix_market(name, text);
    case GraphFormat::edge_list:
      return parse_edge_list(name, text);
    case GraphFormat::dpkg:
      return parse_dpkg(name, text);
  }
  CORACLE_ASSERT(false, "graph format {}", static_cast<int>(format));
}

}  // namespace coracle::asp
