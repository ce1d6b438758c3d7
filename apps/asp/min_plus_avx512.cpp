// Min-plus kernels for AVX-512: 16 rows-by-columns sums, 4 pivots and a coefficient in 21 of 32 registers.
#include <immintrin.h>

#include "apps/asp/min_plus_kernel.hpp"

namespace coracle::asp {
namespace {

struct Avx512 {
  using Register = __m512;
  static constexpr std::size_t kLanes = 16;
  static Register load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Register value) { _mm512_storeu_ps(to, value); }
  static Register broadcast(float value) { return _mm512_set1_ps(value); }
  static Register add(Register a, Register b) { return _mm512_add_ps(a, b); }
  static Register min(Register a, Register b) { return _mm512_maskz_min_ps(0xffff, a, b); }
};

}  // namespace

const MinPlusKernel kMinPlusAvx512 = {"AVX-512",         Avx512::kLanes,        relax_tile<Avx512, 4>,
                                      relax_row<Avx512>, relax_columns<Avx512>, saturate<Avx512, kSaturateChains>};

}  // namespace coracle::asp
