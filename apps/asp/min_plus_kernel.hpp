// The innermost loops of min-plus products, written once for any vector width. Their source is compiled once for each
// instruction set; it includes nothing of the standard library but <cstddef>, so that no inline function compiled for a
// wide machine can be linked into code for a narrow one.
#pragma once

#include <cstddef>

namespace coracle::asp {

inline constexpr std::size_t kTileColumns = 64;  ///< Columns that one kernel call relaxes.
inline constexpr std::size_t kTileRows = 4;      ///< Rows that share each pivot that is loaded.

/// A kernel for one instruction set.
struct MinPlusKernel {
  const char* name;
  std::size_t lanes;  ///< floats per vector

  /// For each row r < kTileRows and each j in [column, column + kTileColumns):
  /// rows[r][j] = min(rows[r][j], coefficients[p * kTileRows + r] + pivots[p][j]) over p < pivot_count.
  void (*relax_tile)(float* const* rows, const float* const* pivots, const float* coefficients, std::size_t pivot_count,
                     std::size_t column);

  /// The same for one row.
  void (*relax_row)(float* row, const float* const* pivots, const float* coefficients, std::size_t pivot_count,
                    std::size_t column);

  /// Steps p = 0..pivot_count-1 one after the other on columns [0, width), where the coefficient of step p is what
  /// column first + p holds by then: coefficients[p] = row[first + p]; row[j] = min(row[j], coefficients[p] + pivots[p
  /// * stride + j]). `width` is a multiple of 16.
  void (*relax_columns)(float* row, const float* pivots, std::size_t stride, std::size_t width, std::size_t first,
                        std::size_t pivot_count, float* coefficients);

  /// What the vector units alone can do: `rounds` times 16 independent (add, min) pairs on registers. Returns a value
  /// that depends on all, so that nothing is left out.
  float (*saturate)(std::size_t rounds, float step, float bound);
};

extern const MinPlusKernel kMinPlusBaseline;
#if defined(__x86_64__)
extern const MinPlusKernel kMinPlusAvx2;
extern const MinPlusKernel kMinPlusAvx512;
#endif

namespace {

inline constexpr std::size_t kSaturateChains = 16;  // enough to hide the latency of add and min

/// So many floats, in the compilers' vector types.
template <std::size_t kCount>
struct Floats {
  typedef float Register __attribute__((vector_size(sizeof(float) * kCount)));
  static constexpr std::size_t kLanes = kCount;

  static Register load(const float* from) {
    Register value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  }
  static void store(float* to, const Register& value) { __builtin_memcpy(to, &value, sizeof value); }
  static Register broadcast(float value) { return value - Register{}; }
  static Register min(const Register& a, const Register& b) { return a < b ? a : b; }
};

template <class Vector, std::size_t kRows, std::size_t kVectors>
inline void relax_strip(float* const* rows, const float* const* pivots, const float* coefficients,
                        std::size_t pivot_count, std::size_t column) {
  typename Vector::Register sums[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = Vector::load(rows[r] + column + v * Vector::kLanes);
  }
  for (std::size_t p = 0; p < pivot_count; ++p) {
    typename Vector::Register pivot[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) pivot[v] = Vector::load(pivots[p] + column + v * Vector::kLanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const typename Vector::Register coefficient = Vector::broadcast(coefficients[p * kRows + r]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = Vector::min(sums[r][v], coefficient + pivot[v]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) Vector::store(rows[r] + column + v * Vector::kLanes, sums[r][v]);
  }
}

template <class Vector, std::size_t kVectors>
void relax_tile(float* const* rows, const float* const* pivots, const float* coefficients, std::size_t pivot_count,
                std::size_t column) {
  for (std::size_t j = 0; j < kTileColumns; j += kVectors * Vector::kLanes) {
    relax_strip<Vector, kTileRows, kVectors>(rows, pivots, coefficients, pivot_count, column + j);
  }
}

template <class Vector>
void relax_row(float* row, const float* const* pivots, const float* coefficients, std::size_t pivot_count,
               std::size_t column) {
  for (std::size_t j = 0; j < kTileColumns; j += 4 * Vector::kLanes) {
    relax_strip<Vector, 1, 4>(&row, pivots, coefficients, pivot_count, column + j);
  }
}

template <class Vector>
void relax_columns(float* row, const float* pivots, std::size_t stride, std::size_t width, std::size_t first,
                   std::size_t pivot_count, float* coefficients) {
  constexpr float kInfinity = __builtin_huge_valf();
  for (std::size_t p = 0; p < pivot_count; ++p) {
    coefficients[p] = row[first + p];
    if (coefficients[p] == kInfinity) continue;
    const typename Vector::Register coefficient = Vector::broadcast(coefficients[p]);
    for (std::size_t j = 0; j < width; j += Vector::kLanes) {
      const typename Vector::Register through = coefficient + Vector::load(pivots + p * stride + j);
      Vector::store(row + j, Vector::min(Vector::load(row + j), through));
    }
  }
}

template <class Vector, std::size_t kChains>
float saturate(std::size_t rounds, float step, float bound) {
  typename Vector::Register chains[kChains];
  for (std::size_t c = 0; c < kChains; ++c) chains[c] = Vector::broadcast(static_cast<float>(c));
  const typename Vector::Register steps = Vector::broadcast(step);
  const typename Vector::Register bounds = Vector::broadcast(bound);
  for (std::size_t i = 0; i < rounds * kSaturateChains / kChains; ++i) {
    for (std::size_t c = 0; c < kChains; ++c) chains[c] = Vector::min(bounds, chains[c] + steps);
  }
  for (std::size_t c = 1; c < kChains; ++c) chains[0] = Vector::min(chains[0], chains[c]);
  float lanes[Vector::kLanes];
  Vector::store(lanes, chains[0]);
  return lanes[0];
}

template <class Vector, std::size_t kVectors, std::size_t kChains>
constexpr MinPlusKernel kernel_of(const char* name) {
  return {name,
          Vector::kLanes,
          relax_tile<Vector, kVectors>,
          relax_row<Vector>,
          relax_columns<Vector>,
          saturate<Vector, kChains>};
}

}  // namespace
}  // namespace coracle::asp
