// Which rank holds which rows of the distance matrix, and the rows that this one holds.
//
// Blocks of rows are dealt out in turn (block-cyclic): a block's pivots are made by its owner one after the other while
// the rest waits for them, so that this serial part must go round; and where many vertices reach nothing, which lie
// side by side in many files, the work is still even.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "apps/asp/graph.hpp"
#include "apps/asp/min_plus.hpp"

namespace coracle::asp {

struct BlockLayout {
  std::size_t vertices;
  std::size_t block;  ///< rows per block: a multiple of kPivotsStep, at most kPivotsMax
  std::uint32_t ranks;

  std::size_t blocks() const noexcept { return (vertices + block - 1) / block; }
  std::uint32_t owner(std::size_t index) const noexcept { return static_cast<std::uint32_t>(index % ranks); }
  std::uint32_t owner_of_row(std::size_t row) const noexcept { return owner(row / block); }
  std::size_t first_row(std::size_t index) const noexcept { return index * block; }
  std::size_t row_count(std::size_t index) const noexcept { return std::min(block, vertices - first_row(index)); }
};

/// A block's size for the machine and the graph: large enough to run at the vector units' speed, small enough that
/// every rank has several blocks where the graph allows it.
std::size_t good_block_size(std::size_t vertices, std::uint32_t ranks) noexcept;

/// The blocks of one rank, one after the other in its private memory.
class OwnedRows {
 public:
  /// Filled with the graph's arcs. Throws std::bad_alloc.
  OwnedRows(const BlockLayout& layout, std::uint32_t rank, const Graph& graph);

  const BlockLayout& layout() const noexcept { return layout_; }
  bool owns(std::size_t block) const noexcept { return layout_.owner(block) == rank_; }

  /// This rank's first block; the next are layout().ranks further each.
  std::size_t first_block() const noexcept { return rank_; }

  /// The rows of a block that this rank owns.
  DistanceRows block(std::size_t index) const noexcept;

  /// A row that this rank owns, vertices() long.
  std::span<const float> row(std::size_t vertex) const noexcept;

 private:
  struct Release {
    void operator()(float* data) const noexcept { ::operator delete[](data, kAlignment); }
  };
  static constexpr std::align_val_t kAlignment{4096};

  BlockLayout layout_;
  std::uint32_t rank_;
  std::size_t stride_;
  std::unique_ptr<float[], Release> data_;
};

}  // namespace coracle::asp
