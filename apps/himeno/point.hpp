// A point's arithmetic, written once for floats, for vectors of them and for GPUs. Whatever compiles it must not
// contract a product and a sum into one rounding (-ffp-contract=off; nvcc: -fmad=false): all give the same bits.
// Sources for one instruction set include it, so that it needs nothing of the standard library but <cstddef> and
// <cstdint>.
#pragma once

#include <cstddef>
#include <cstdint>

#include "apps/himeno/kernel.hpp"

#if defined(__CUDACC__)
#define HIMENO_EVERYWHERE __host__ __device__
#else
#define HIMENO_EVERYWHERE
#endif

namespace coracle::himeno {
namespace {

template <class Floats>
HIMENO_EVERYWHERE inline Floats load(const float* from) {
  if constexpr (sizeof(Floats) == sizeof(float)) {
    return *from;  // in one piece: a GPU's compiler takes a copy for one of bytes
  } else {
    Floats value;
    __builtin_memcpy(&value, from, sizeof(value));
    return value;
  }
}

template <class Floats>
HIMENO_EVERYWHERE inline void store(float* to, const Floats& value) {
  if constexpr (sizeof(Floats) == sizeof(float))
    *to = value;
  else
    __builtin_memcpy(to, &value, sizeof(value));
}

/// Sums of squares as fixed-point integers (see ExactSum). Adding a constant of which the last bit is worth 2^-44
/// rounds the square to that, and leaves the integer in the bits of the result; what was rounded off, exactly known,
/// goes to a second sum in units of 2^-89. Enough for the 2^12 squares of a row.
template <class Doubles, class Bits>
struct Squares {
  static constexpr double kTop = 0x1.8p8;
  static constexpr double kRest = 0x1.8p-37;

  Bits top{};
  Bits rest{};

  HIMENO_EVERYWHERE void add(const Doubles& values) {
    const Doubles square = values * values;
    const Doubles rounded = square + kTop;
    const Doubles left = (square - (rounded - kTop)) + kRest;
    top += __builtin_bit_cast(Bits, rounded);
    rest += __builtin_bit_cast(Bits, left);
  }
};

using OneSquares = Squares<double, std::uint64_t>;

/// The sums of `count` additions, without the constants.
HIMENO_EVERYWHERE inline std::int64_t top_of(std::uint64_t top, std::uint64_t count) {
  return static_cast<std::int64_t>(top - count * __builtin_bit_cast(std::uint64_t, OneSquares::kTop));
}
HIMENO_EVERYWHERE inline std::int64_t rest_of(std::uint64_t rest, std::uint64_t count) {
  return static_cast<std::int64_t>(rest - count * __builtin_bit_cast(std::uint64_t, OneSquares::kRest));
}

/// The changes of the points from `at` on, which it makes in `next`.
template <class Floats>
HIMENO_EVERYWHERE inline Floats relax_at(const Coefficients& of, const float* p, float* next, std::size_t at) {
  const float* const here = p + at;
  const float* const low = here - of.plane;  // i - 1
  const float* const high = here + of.plane;
  const std::size_t row = of.row;
  const auto get = [](const float* from) { return load<Floats>(from); };
  const Floats ij = get(high + row) - get(high - row) - get(low + row) + get(low - row);
  const Floats jk = get(here + row + 1) - get(here - row + 1) - get(here + row - 1) + get(here - row - 1);
  const Floats ik = get(high + 1) - get(low + 1) - get(high - 1) + get(low - 1);
  const Floats sum = get(of.a[0] + at) * get(high) + get(of.a[1] + at) * get(here + row) +
                     get(of.a[2] + at) * get(here + 1) + get(of.b[0] + at) * ij + get(of.b[1] + at) * jk +
                     get(of.b[2] + at) * ik + get(of.c[0] + at) * get(low) + get(of.c[1] + at) * get(here - row) +
                     get(of.c[2] + at) * get(here - 1) + get(of.wrk1 + at);
  const Floats centre = get(here);
  const Floats change = (sum * get(of.a[3] + at) - centre) * get(of.bnd + at);
  store(next + at, centre + kOmega * change);
  return change;
}

/// As much of memory, with nothing but sums between.
template <class Floats>
HIMENO_EVERYWHERE inline void stream_at(const Coefficients& of, const float* p, float* next, std::size_t at) {
  const auto get = [at](const float* from) { return load<Floats>(from + at); };
  store(next + at, get(of.a[0]) + get(of.a[1]) + get(of.a[2]) + get(of.a[3]) + get(of.b[0]) + get(of.b[1]) +
                       get(of.b[2]) + get(of.c[0]) + get(of.c[1]) + get(of.c[2]) + get(of.bnd) + get(of.wrk1) + get(p));
}

}  // namespace
}  // namespace coracle::himeno
