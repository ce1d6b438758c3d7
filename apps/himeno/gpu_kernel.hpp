// Himeno's kernels for GPUs, but for how threads find their points and join their sums (gpu_kernel.cu). Compiled for
// the host, too: tests run the same arithmetic without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "apps/himeno/point.hpp"

namespace coracle::himeno {

/// The words of a sum that many add to, in any order.
inline constexpr std::size_t kSumWords = 4;
/// In a block of threads.
inline constexpr unsigned kGpuThreads = 256;
/// Points of a thread; as many squares as a block may add up are 2^11, half of what a Squares has room for.
inline constexpr unsigned kGpuDepthMax = 8;

/// What a launch gets. Addresses are a GPU's.
struct Relaxation {
  Coefficients of;
  const float* pressure;  ///< Its point (0, 0, 0), as those of the coefficients.
  float* next;
  Box box;
  std::size_t depth;   ///< Points of a thread, one behind the other in i.
  std::uint64_t* sum;  ///< kSumWords; the squares are added to them.
};

/// A thread's place in the launch: in i, j and k.
struct GpuThread {
  std::size_t place[3];
};

/// A sum of squares: top * 2^-44 + rest * 2^-89.
struct PartSum {
  std::int64_t top = 0;
  std::int64_t rest = 0;
};

namespace {

/// Calls `work(at)` for each of a thread's points; gives how many they are.
template <class Work>
HIMENO_EVERYWHERE inline std::uint64_t for_column(const Relaxation& what, const GpuThread& thread, Work work) {
  const std::size_t j = what.box.begin[1] + thread.place[1];
  const std::size_t k = what.box.begin[2] + thread.place[2];
  const std::size_t first = what.box.begin[0] + thread.place[0] * what.depth;
  if (j >= what.box.end[1] || k >= what.box.end[2] || first >= what.box.end[0]) return 0;
  const std::size_t end = first + what.depth < what.box.end[0] ? first + what.depth : what.box.end[0];
  for (std::size_t i = first; i < end; ++i) work(i * what.of.plane + j * what.of.row + k);
  return end - first;
}

/// A step of Jacobi on a thread's points.
HIMENO_EVERYWHERE inline PartSum relax_column(const Relaxation& what, const GpuThread& thread) {
  OneSquares squares;
  const std::uint64_t count = for_column(what, thread, [&](std::size_t at) {
    squares.add(static_cast<double>(relax_at<float>(what.of, what.pressure, what.next, at)));
  });
  return {top_of(squares.top, count), rest_of(squares.rest, count)};
}

/// What memory alone allows, on a thread's points.
HIMENO_EVERYWHERE inline void stream_column(const Relaxation& what, const GpuThread& thread) {
  for_column(what, thread, [&](std::size_t at) { stream_at<float>(what.of, what.pressure, what.next, at); });
}

/// A sum as words of which each has room for 2^31 additions: the lower halves without sign, the upper ones with it.
HIMENO_EVERYWHERE inline void to_words(const PartSum& sum, std::uint64_t* words) {
  constexpr std::uint64_t kLow = 0xffffffff;
  words[0] = static_cast<std::uint64_t>(sum.rest) & kLow;
  words[1] = static_cast<std::uint64_t>(sum.rest >> 32);
  words[2] = static_cast<std::uint64_t>(sum.top) & kLow;
  words[3] = static_cast<std::uint64_t>(sum.top >> 32);
}

}  // namespace
}  // namespace coracle::himeno
