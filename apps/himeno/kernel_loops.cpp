// The innermost loops of Himeno, written once for any vector width in the compilers' vector types. This source is
// compiled once for each instruction set (see meson.build), and gives the kernel of that one; so it includes nothing of
// the standard library but <cstddef> and <cstdint>, and no inline function compiled for a wide machine can be linked
// into code for a narrow one.
#include <cstddef>
#include <cstdint>

#include "apps/himeno/kernel.hpp"
#include "apps/himeno/point.hpp"

namespace coracle::himeno {
namespace {

/// Vectors of floats, and of half as many doubles.
template <std::size_t kCount>
struct Vectors {
  static constexpr std::size_t kLanes = kCount;
  typedef float Floats __attribute__((vector_size(4 * kCount)));
  typedef std::uint32_t Mask __attribute__((vector_size(4 * kCount)));
  typedef double Doubles __attribute__((vector_size(4 * kCount)));
  typedef std::uint64_t Bits __attribute__((vector_size(4 * kCount)));
};

/// Numbers of lanes, for the functions that take them as constants.
template <std::size_t... kLane>
struct Lanes {};

/// One lane's sums, of `count` additions.
inline void take_out(std::uint64_t top, std::uint64_t rest, std::uint64_t count, ExactSum& sum) {
  sum.add_words(top_of(top, count), rest_of(rest, count));
}

/// `count` points one by one.
inline void relax_singly(const Coefficients& of, const float* p, float* next, std::size_t at, std::size_t count,
                         ExactSum& sum) {
  OneSquares squares;
  for (std::size_t k = at; k < at + count; ++k) squares.add(static_cast<double>(relax_at<float>(of, p, next, k)));
  take_out(squares.top, squares.rest, count, sum);
}

/// Of a row that may end inside a vector: the last one lies over the one before, whose points it makes again, alike;
/// this mask takes their squares out.
template <class V>
inline typename V::Mask last_lanes(std::size_t count) {
  static constexpr std::uint32_t kMask[2 * kLanesMax] = {
      0,          0,          0,          0,          0,          0,          0,          0,
      0,          0,          0,          0,          0,          0,          0,          0,
      0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
      0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
  typename V::Mask mask;
  __builtin_memcpy(&mask, kMask + kLanesMax + count - V::kLanes, sizeof(mask));
  return mask;
}

template <class V, std::size_t... kHalf>
inline void relax_row(const Coefficients& of, const float* p, float* next, std::size_t at, std::size_t count,
                      ExactSum& sum, Lanes<kHalf...>) {
  using Floats = typename V::Floats;
  using Doubles = typename V::Doubles;
  constexpr std::size_t kHalfLanes = V::kLanes / 2;
  Squares<Doubles, typename V::Bits> first;
  Squares<Doubles, typename V::Bits> second;
  const auto add = [&](const Floats& change) {
    first.add(__builtin_convertvector(__builtin_shufflevector(change, change, kHalf...), Doubles));
    second.add(__builtin_convertvector(__builtin_shufflevector(change, change, (kHalf + kHalfLanes)...), Doubles));
  };
  const std::size_t whole = count / V::kLanes;
  for (std::size_t v = 0; v < whole; ++v) add(relax_at<Floats>(of, p, next, at + v * V::kLanes));
  const std::size_t rest = count % V::kLanes;
  if (rest > 0) {
    const Floats change = relax_at<Floats>(of, p, next, at + count - V::kLanes);
    const auto bits = __builtin_bit_cast(typename V::Mask, change) & last_lanes<V>(rest);
    add(__builtin_bit_cast(Floats, bits));
  }
  const std::uint64_t additions = whole + (rest > 0 ? 1 : 0);
  const typename V::Bits top = first.top + second.top;
  const typename V::Bits low = first.rest + second.rest;
  std::uint64_t top_sum = 0;
  std::uint64_t rest_sum = 0;
  for (std::size_t lane = 0; lane < kHalfLanes; ++lane) {
    top_sum += top[lane];
    rest_sum += low[lane];
  }
  take_out(top_sum, rest_sum, additions * V::kLanes, sum);
}

/// Calls `work(at, count)` with each row's place in the arrays.
template <class Work>
inline void for_each_row(const Coefficients& of, const Box& box, Work work) {
  for (std::size_t i = box.begin[0]; i < box.end[0]; ++i)
    for (std::size_t j = box.begin[1]; j < box.end[1]; ++j)
      work(i * of.plane + j * of.row + box.begin[2], box.end[2] - box.begin[2]);
}

template <class V, class Half>
void relax(const Coefficients& coefficients, const float* p, float* next, const Box& box, ExactSum& sum) {
  if (box.begin[2] >= box.end[2]) return;
  const Coefficients of = coefficients;  // a copy, of which the compiler knows that no store changes it
  ExactSum squares{0, 0};
  const bool is_narrow = box.end[2] - box.begin[2] < V::kLanes;
  for_each_row(of, box, [&](std::size_t at, std::size_t count) {
    if (is_narrow)
      relax_singly(of, p, next, at, count, squares);
    else
      relax_row<V>(of, p, next, at, count, squares, Half());
  });
  sum = sum + squares;
}

template <class V>
void stream(const Coefficients& coefficients, const float* p, float* next, const Box& box) {
  if (box.begin[2] >= box.end[2]) return;
  const Coefficients of = coefficients;
  for_each_row(of, box, [&](std::size_t at, std::size_t count) {
    std::size_t k = 0;
    for (; k + V::kLanes <= count; k += V::kLanes) stream_at<typename V::Floats>(of, p, next, at + k);
    for (; k < count; ++k) stream_at<float>(of, p, next, at + k);
  });
}

}  // namespace

#if defined(HIMENO_AVX512)
const Kernel kAvx512Kernel = {"AVX-512", relax<Vectors<16>, Lanes<0, 1, 2, 3, 4, 5, 6, 7>>, stream<Vectors<16>>};
#elif defined(HIMENO_AVX2)
const Kernel kAvx2Kernel = {"AVX2", relax<Vectors<8>, Lanes<0, 1, 2, 3>>, stream<Vectors<8>>};
#else
// For any machine: four lanes, which are SSE on x86-64, NEON on ARM.
const Kernel kBaselineKernel = {"baseline", relax<Vectors<4>, Lanes<0, 1>>, stream<Vectors<4>>};
#endif

}  // namespace coracle::himeno
