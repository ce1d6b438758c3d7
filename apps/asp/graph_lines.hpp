// Formats that tell what stands in a line by what stood in those before: read line by line, so that a text may come in
// pieces and its arcs may be more than memory holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/asp/text_lines.hpp"

namespace coracle::asp {

/// An arc as its line has it, with vertices from 1. The reader decides what weights may be.
struct ArcLine {
  std::size_t source = 0;
  std::size_t target = 0;
  std::string_view weight;  ///< Empty: none; a part of the line.
};

/// What the formats have in common: they declare how many vertices and arcs there are, and then come so many arcs.
class DeclaredLines {
 public:
  std::size_t vertices() const noexcept { return vertices_; }
  /// As declared.
  std::size_t arcs() const noexcept { return arcs_; }
  /// Whether each arc between two vertices is an arc back as well.
  bool is_symmetric() const noexcept { return is_symmetric_; }

 protected:
  /// `noun`: what the format calls arcs.
  DeclaredLines(std::size_t vertices_max, std::string_view noun) : vertices_max_(vertices_max), noun_(noun) {}
  ~DeclaredLines() = default;

  bool has_sizes() const noexcept { return has_sizes_; }
  std::size_t take_vertices(TextLines& lines, std::string_view field) const;
  /// The declared number of arcs, with which the line ends; the sizes are there then.
  void take_arcs(TextLines& lines, std::size_t vertices);
  void make_symmetric() noexcept { is_symmetric_ = true; }
  /// One more arc has come. `remedy`: where too many come.
  void count_arc(const TextLines& lines, std::string_view remedy);
  /// Behind the last line, when the sizes are there: complains of what is missing.
  void check_all_came(const TextLines& lines) const;

 private:
  std::size_t vertices_max_;
  std::string_view noun_;
  bool has_sizes_ = false;
  bool is_symmetric_ = false;
  std::size_t vertices_ = 0;
  std::size_t arcs_ = 0;
  std::size_t seen_ = 0;
};

/// 9th DIMACS challenge: `p sp VERTICES ARCS`, then `a FROM TO WEIGHT`; `c` starts a comment.
class DimacsLines : public DeclaredLines {
 public:
  static constexpr std::size_t kArcBytesMin = 8;  ///< Of a line with an arc.

  explicit DimacsLines(std::size_t vertices_max) : DeclaredLines(vertices_max, "arcs") {}

  /// The current line; nothing where it holds no arc.
  std::optional<ArcLine> take(TextLines& lines);
  /// Behind the last line: complains of what is missing.
  void finish(const TextLines& lines) const;

 private:
  void take_sizes(TextLines& lines);
  ArcLine take_arc(TextLines& lines);
};

/// Matrix Market's square coordinate matrices; entry (i, j) is an arc i -> j.
class MatrixMarketLines : public DeclaredLines {
 public:
  static constexpr std::size_t kArcBytesMin = 4;

  explicit MatrixMarketLines(std::size_t vertices_max) : DeclaredLines(vertices_max, "entries") {}

  std::optional<ArcLine> take(TextLines& lines);
  void finish(const TextLines& lines) const;

 private:
  void take_header(TextLines& lines);
  void take_sizes(TextLines& lines);
  ArcLine take_entry(TextLines& lines);

  bool has_header_ = false;
  bool has_weights_ = false;
};

/// The graph of a whole text; arcs without weights weigh 1.
template <class Lines>
Graph parse_declared(const std::string& name, std::string_view text) {
  TextLines lines(name, text);
  Lines declared(kVerticesMax);
  std::vector<Arc> arcs;
  while (lines.next()) {
    const std::optional<ArcLine> arc = declared.take(lines);
    if (!arc) continue;
    if (arcs.empty()) arcs.reserve(std::min(declared.arcs(), lines.lines_possible(Lines::kArcBytesMin)));
    const auto source = static_cast<Vertex>(arc->source - 1);
    const auto target = static_cast<Vertex>(arc->target - 1);
    const float weight = arc->weight.empty() ? 1.0F : lines.weight(arc->weight);
    arcs.push_back({source, target, weight});
    if (declared.is_symmetric() && source != target) arcs.push_back({target, source, weight});
  }
  declared.finish(lines);
  return Graph(declared.vertices(), arcs, {}, 1);
}

}  // namespace coracle::asp
