// Chooses the kernel and feeds it: which rows, which pivots, in which order.
#include "apps/asp/min_plus.hpp"

#include <algorithm>
#include <chrono>

#include "apps/asp/graph.hpp"
#include "runtime/core/assert.hpp"

namespace coracle::asp {
namespace {

// Rows that are relaxed together: their tiles and the pivots' stay in the first-level cache and the TLB.
constexpr std::size_t kChunkRows = 64;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Columns around the block's own that relax_columns covers.
std::size_t panel_width(std::size_t count) {
  return (count + kPivotsStep - 1) / kPivotsStep * kPivotsStep;
}

}  // namespace

std::vector<const MinPlusKernel*> usable_min_plus_kernels() {
  std::vector<const MinPlusKernel*> kernels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) kernels.push_back(&kMinPlusAvx512);
  if (__builtin_cpu_supports("avx2")) kernels.push_back(&kMinPlusAvx2);
#endif
  kernels.push_back(&kMinPlusBaseline);
  return kernels;
}

const MinPlusKernel& best_min_plus_kernel() noexcept {
  return *usable_min_plus_kernels().front();
}

double vector_limit(const MinPlusKernel& kernel) {
  constexpr std::size_t kRounds = 20000;
  const double pairs = static_cast<double>(kRounds * kSaturateChains * kernel.lanes);
  double best = 0;
  volatile float sink = 0;
  for (int repeat = 0; repeat < 10; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    sink = kernel.saturate(kRounds, 1.0F, 1e6F);
    best = std::max(best, pairs / seconds_since(start));
  }
  static_cast<void>(sink);
  return best;
}

MinPlusBlock::MinPlusBlock(const MinPlusKernel& kernel) : kernel_(kernel), groups_(kChunkRows / kTileRows) {}

void MinPlusBlock::apply(DistanceRows rows, PivotRows pivots) {
  CORACLE_ASSERT(pivots.count <= kPivotsMax && pivots.first % kPivotsStep == 0, "pivots {} + {}", pivots.first,
                 pivots.count);
  CORACLE_ASSERT(rows.stride % kTileColumns == 0, "a row stride of {}", rows.stride);
  for (std::size_t begin = 0; begin < rows.count; begin += kChunkRows) {
    gather_groups(rows, begin, std::min(begin + kChunkRows, rows.count), pivots);
    relax_groups(rows.stride);
  }
}

void MinPlusBlock::make_pivot(DistanceRows block, std::size_t first, std::size_t step, float* pivots) {
  CORACLE_ASSERT(step < block.count && block.count <= kPivotsMax, "pivot {} of {}", step, block.count);
  relax_one(block.row(step), block.stride, {pivots, first, step});
  std::copy_n(block.row(step), block.stride, pivots + step * block.stride);
}

void MinPlusBlock::finish_block(DistanceRows block, PivotRows pivots) {
  for (std::size_t step = 0; step + 1 < pivots.count; ++step) {
    const std::size_t behind = step + 1;
    const PivotRows rest = {pivots.data + behind * block.stride, pivots.first + behind, pivots.count - behind};
    relax_one(block.row(step), block.stride, rest);
  }
}

// Unlike apply, takes any pivots.first: the columns before it up to a multiple of kPivotsStep are relaxed early, which
// is the same relaxation with the same coefficient.
void MinPlusBlock::relax_one(float* row, std::size_t stride, PivotRows pivots) {
  const std::size_t start = pivots.first / kPivotsStep * kPivotsStep;
  const std::size_t offset = pivots.first - start;
  float coefficients[kPivotsMax];
  kernel_.relax_columns(row + start, pivots.data + start, stride, panel_width(offset + pivots.count), offset,
                        pivots.count, coefficients);
  const float* reached[kPivotsMax];
  std::size_t count = 0;
  for (std::size_t p = 0; p < pivots.count; ++p) {
    if (coefficients[p] == kUnreachable) continue;
    reached[count] = pivots.data + p * stride;
    coefficients[count++] = coefficients[p];
  }
  if (count == 0) return;
  for (std::size_t j = 0; j < stride; j += kTileColumns) kernel_.relax_row(row, reached, coefficients, count, j);
  operations_ += static_cast<double>(count * stride);
}

void MinPlusBlock::gather_groups(DistanceRows rows, std::size_t begin, std::size_t end, PivotRows pivots) {
  group_count_ = 0;
  Group* group = nullptr;
  float coefficients[kPivotsMax];
  for (std::size_t i = begin; i < end; ++i) {
    kernel_.relax_columns(rows.row(i) + pivots.first, pivots.data + pivots.first, rows.stride,
                          panel_width(pivots.count), 0, pivots.count, coefficients);
    const bool is_reached = std::any_of(coefficients, coefficients + pivots.count,
                                        [](float coefficient) { return coefficient != kUnreachable; });
    if (!is_reached) continue;
    if (!group) {
      group = &groups_[group_count_++];
      group->row_count = 0;
    }
    group->rows[group->row_count] = rows.row(i);
    for (std::size_t p = 0; p < pivots.count; ++p) {
      group->coefficients[p * kTileRows + group->row_count] = coefficients[p];
    }
    if (++group->row_count == kTileRows) {
      close_group(*group, pivots, rows.stride);
      group = nullptr;
    }
  }
  if (group) close_group(*group, pivots, rows.stride);
}

// Fills up the group with copies of its first row, which change nothing, and leaves out the pivots that no row reaches.
void MinPlusBlock::close_group(Group& group, PivotRows pivots, std::size_t stride) {
  for (std::size_t r = group.row_count; r < kTileRows; ++r) {
    group.rows[r] = group.rows[0];
    for (std::size_t p = 0; p < pivots.count; ++p) {
      group.coefficients[p * kTileRows + r] = group.coefficients[p * kTileRows];
    }
  }
  group.pivot_count = 0;
  for (std::size_t p = 0; p < pivots.count; ++p) {
    const float* const from = group.coefficients + p * kTileRows;
    const bool is_reached = std::any_of(from, from + kTileRows, [](float c) { return c != kUnreachable; });
    if (!is_reached) continue;
    std::copy_n(from, kTileRows, group.coefficients + group.pivot_count * kTileRows);
    group.pivots[group.pivot_count++] = pivots.data + p * stride;
  }
  operations_ += static_cast<double>(group.row_count * group.pivot_count * stride);
}

void MinPlusBlock::relax_groups(std::size_t stride) {
  for (std::size_t j = 0; j < stride; j += kTileColumns) {
    for (std::size_t g = 0; g < group_count_; ++g) {
      const Group& group = groups_[g];
      kernel_.relax_tile(group.rows, group.pivots, group.coefficients, group.pivot_count, j);
    }
  }
}

}  // namespace coracle::asp
