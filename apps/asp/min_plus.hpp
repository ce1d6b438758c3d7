// Floyd-Warshall over blocks of pivots: the sums of the textbook's triple loop in another order. A pass of B pivots
// over the matrix reads and writes each entry once, not B times, so that it runs at the speed of the vector units, not
// of memory.
#pragma once

#include <cstddef>
#include <vector>

#include "apps/asp/min_plus_kernel.hpp"

namespace coracle::asp {

inline constexpr std::size_t kPivotsMax = 128;  ///< Most pivots in a block.
inline constexpr std::size_t kPivotsStep = 16;  ///< A block's size is a multiple of this.

/// Row length of a distance matrix of `vertices` columns: padded to whole tiles; the padding holds kUnreachable.
constexpr std::size_t row_stride(std::size_t vertices) noexcept {
  return (vertices + kTileColumns - 1) / kTileColumns * kTileColumns;
}

/// The fastest kernel that this machine's CPU can run.
const MinPlusKernel& best_min_plus_kernel() noexcept;

/// All kernels that this machine's CPU can run, the fastest first.
std::vector<const MinPlusKernel*> usable_min_plus_kernels();

/// (add, min) pairs per second that the vector units reach on registers, measured for about a millisecond: the limit.
double vector_limit(const MinPlusKernel& kernel);

/// Rows of the distance matrix that lie one after the other; the caller owns them.
struct DistanceRows {
  float* data;
  std::size_t count;
  std::size_t stride;  ///< row_stride(vertices)
  float* row(std::size_t index) const noexcept { return data + index * stride; }
};

/// The pivot rows [first, first + count) of one block, each as it was when its step began; same stride as the matrix.
/// `first` is a multiple of kPivotsStep.
struct PivotRows {
  const float* data;
  std::size_t first;
  std::size_t count;
};

/// Applies pivots to rows. The entries are bit for bit those of
///   for k: for i: for j: d[i][j] = min(d[i][j], d[i][k] + d[k][j])
/// because each row meets the pivots in order, with the coefficient d[i][k] that it has at step k.
/// One thread at a time; holds scratch space, takes no memory after construction.
class MinPlusBlock {
 public:
  explicit MinPlusBlock(const MinPlusKernel& kernel = best_min_plus_kernel());

  const MinPlusKernel& kernel() const noexcept { return kernel_; }

  /// Applies all `pivots` to `rows`, none of which is a pivot of this block. A row meets only pivots that it reaches.
  void apply(DistanceRows rows, PivotRows pivots);

  /// The owner of a block makes its pivots in order, step = 0..count-1: applies pivots [0, step) to row `step` of
  /// `block` (the block's own rows of the matrix) and copies it to pivots + step * stride, final for its step. `first`
  /// as in PivotRows.
  void make_pivot(DistanceRows block, std::size_t first, std::size_t step, float* pivots);

  /// When all pivots of a block are made: applies to each row of `block` the pivots behind it.
  void finish_block(DistanceRows block, PivotRows pivots);

  /// Additions (each with a min) done so far, skipped ones left out.
  double operations() const noexcept { return operations_; }

 private:
  // Up to kTileRows rows, and the pivots that at least one of them reaches.
  struct Group {
    std::size_t row_count = 0;
    std::size_t pivot_count = 0;
    float* rows[kTileRows];
    const float* pivots[kPivotsMax];
    float coefficients[kPivotsMax * kTileRows];  // by pivot, then row
  };

  void relax_one(float* row, std::size_t stride, PivotRows pivots);
  void gather_groups(DistanceRows rows, std::size_t begin, std::size_t end, PivotRows pivots);
  void close_group(Group& group, PivotRows pivots, std::size_t stride);
  void relax_groups(std::size_t stride);

  const MinPlusKernel& kernel_;
  std::vector<Group> groups_;
  std::size_t group_count_ = 0;
  double operations_ = 0;
};

}  // namespace coracle::asp
