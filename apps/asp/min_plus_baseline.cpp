// Min-plus kernels for any machine: SSE on x86-64, which every one of them has, and plain arrays of four elsewhere.
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "apps/asp/min_plus_kernel.hpp"

namespace coracle::asp {
namespace {

#if defined(__SSE2__)

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

const MinPlusKernel kMinPlusBaseline = {Baseline::kName,     Baseline::kLanes,        relax_tile<Baseline, 2>,
                                        relax_row<Baseline>, relax_columns<Baseline>, saturate<Baseline, 8>};

}  // namespace coracle::asp
