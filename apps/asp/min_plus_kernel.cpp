// The instruction sets of the min-plus kernels. This source is compiled once for each of them (see meson.build), and
// gives the kernel of that one: AVX-512, AVX2, or what any machine has, which is SSE on x86-64, and plain arrays of
// four elsewhere.
#if defined(ASP_AVX512) || defined(ASP_AVX2)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "apps/asp/min_plus_kernel.hpp"

namespace coracle::asp {
namespace {

#if defined(ASP_AVX512)

/// 16 rows-by-columns sums, 4 pivots and a coefficient in 21 of 32 registers.
struct Avx512 {
  using Register = __m512;
  static constexpr std::size_t kLanes = 16;
  static Register load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Register value) { _mm512_storeu_ps(to, value); }
  static Register broadcast(float value) { return _mm512_set1_ps(value); }
  static Register add(Register a, Register b) { return _mm512_add_ps(a, b); }
  static Register min(Register a, Register b) { return _mm512_maskz_min_ps(0xffff, a, b); }
};

#elif defined(ASP_AVX2)

/// 8 sums, 2 pivots and a coefficient in 11 of 16 registers.
struct Avx2 {
  using Register = __m256;
  static constexpr std::size_t kLanes = 8;
  static Register load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Register value) { _mm256_storeu_ps(to, value); }
  static Register broadcast(float value) { return _mm256_set1_ps(value); }
  static Register add(Register a, Register b) { return _mm256_add_ps(a, b); }
  static Register min(Register a, Register b) { return _mm256_min_ps(a, b); }
};

#elif defined(__SSE2__)

struct Baseline {
  using Register = __m128;
  static constexpr const char* kName = "SSE";
  static constexpr std::size_t kLanes = 4;
  static Register load(const float* from) { return _mm_loadu_ps(from); }
  static void store(float* to, Register value) { _mm_storeu_ps(to, value); }
  static Register broadcast(float value) { return _mm_set1_ps(value); }
  static Register add(Register a, Register b) { return _mm_add_ps(a, b); }
  static Register min(Register a, Register b) { return _mm_min_ps(a, b); }
};

#else

struct Baseline {
  struct Register {
    float lanes[4];
  };
  static constexpr const char* kName = "portable";
  static constexpr std::size_t kLanes = 4;
  static Register load(const float* from) { return {{from[0], from[1], from[2], from[3]}}; }
  static void store(float* to, Register value) {
    for (std::size_t i = 0; i < kLanes; ++i) to[i] = value.lanes[i];
  }
  static Register broadcast(float value) { return {{value, value, value, value}}; }
  static Register add(Register a, Register b) {
    for (std::size_t i = 0; i < kLanes; ++i) a.lanes[i] += b.lanes[i];
    return a;
  }
  static Register min(Register a, Register b) {
    for (std::size_t i = 0; i < kLanes; ++i) a.lanes[i] = a.lanes[i] < b.lanes[i] ? a.lanes[i] : b.lanes[i];
    return a;
  }
};

#endif

}  // namespace

#if defined(ASP_AVX512)
const MinPlusKernel kMinPlusAvx512 = {"AVX-512",         Avx512::kLanes,        relax_tile<Avx512, 4>,
                                      relax_row<Avx512>, relax_columns<Avx512>, saturate<Avx512, kSaturateChains>};
#elif defined(ASP_AVX2)
const MinPlusKernel kMinPlusAvx2 = {"AVX2",          Avx2::kLanes,        relax_tile<Avx2, 2>,
                                    relax_row<Avx2>, relax_columns<Avx2>, saturate<Avx2, 8>};
#else
const MinPlusKernel kMinPlusBaseline = {Baseline::kName,     Baseline::kLanes,        relax_tile<Baseline, 2>,
                                        relax_row<Baseline>, relax_columns<Baseline>, saturate<Baseline, 8>};
#endif

}  // namespace coracle::asp
