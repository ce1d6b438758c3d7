// Formats that tell what stands in a line by what stood in those before: read line by line, so that a text may come in
// pieces and its arcs may be more than memory holds.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "apps/asp/text_lines.hpp"

namespace coracle::asp {

/// An arc as its line has it, with vertices from 1. The reader decides what weights may be.
struct ArcLine {
  std::size_t source = 0;
  std::size_t target = 0;
  std::string_view weight;  ///< Empty: none; a part of the line.
};

/// 9th DIMACS challenge: `p sp VERTICES ARCS`, then `a FROM TO WEIGHT`; `c` starts a comment.
class DimacsLines {
 public:
  explicit DimacsLines(std::size_t vertices_max) : vertices_max_(vertices_max) {}

  /// The current line; nothing where it holds no arc.
  std::optional<ArcLine> take(TextLines& lines);
  /// Behind the last line: complains of what is missing.
  void finish(const TextLines& lines) const;

  bool has_sizes() const noexcept { return has_sizes_; }
  std::size_t vertices() const noexcept { return vertices_; }
  std::size_t arcs() const noexcept { return arcs_; }

 private:
  void take_sizes(TextLines& lines);
  ArcLine take_arc(TextLines& lines);

  std::size_t vertices_max_;
  bool has_sizes_ = false;
  std::size_t vertices_ = 0;
  std::size_t arcs_ = 0;  // as declared
  std::size_t seen_ = 0;
};

/// Matrix Market's square coordinate matrices; entry (i, j) is an arc i -> j.
class MatrixMarketLines {
 public:
  explicit MatrixMarketLines(std::size_t vertices_max) : vertices_max_(vertices_max) {}

  std::optional<ArcLine> take(TextLines& lines);
  void finish(const TextLines& lines) const;

  /// Each entry off the diagonal is an arc back as well.
  bool is_symmetric() const noexcept { return is_symmetric_; }
  bool has_sizes() const noexcept { return has_sizes_; }
  std::size_t vertices() const noexcept { return vertices_; }
  std::size_t entries() const noexcept { return entries_; }

 private:
  void take_header(TextLines& lines);
  void take_sizes(TextLines& lines);
  ArcLine take_entry(TextLines& lines);

  std::size_t vertices_max_;
  bool has_header_ = false;
  bool has_sizes_ = false;
  bool has_weights_ = false;
  bool is_symmetric_ = false;
  std::size_t vertices_ = 0;
  std::size_t entries_ = 0;  // as declared
  std::size_t seen_ = 0;
};

}  // namespace coracle::asp
