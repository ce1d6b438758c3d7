// Counts what was declared.
#include "apps/asp/graph_lines.hpp"

#include <fmt/format.h>

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

}  // namespace coracle::asp
