// Min-plus kernels for AVX2: 8 sums, 2 pivots and a coefficient in 11 of 16 registers.
#include <immintrin.h>

#include "apps/asp/min_plus_kernel.hpp"

namespace coracle::asp {
namespace {

struct Avx2 {
  using Register = __m256;
  static constexpr std::size_t kLanes = 8;
  static Register load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Register value) { _mm256_storeu_ps(to, value); }
  static Register broadcast(float value) { return _mm256_set1_ps(value); }
  static Register add(Register a, Register b) { return _mm256_add_ps(a, b); }
  static Register min(Register a, Register b) { return _mm256_min_ps(a, b); }
};

}  // namespace

const MinPlusKernel kMinPlusAvx2 = {"AVX2",          Avx2::kLanes,        relax_tile<Avx2, 2>,
                                    relax_row<Avx2>, relax_columns<Avx2>, saturate<Avx2, 8>};

}  // namespace coracle::asp
