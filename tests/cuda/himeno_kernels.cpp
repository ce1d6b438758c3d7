#include "tests/cuda/himeno_kernels.hpp"

#include <cstring>

#include "apps/himeno/gpu_kernel.hpp"

namespace coracle::internals::test {
namespace {

using himeno::Box;
using himeno::GpuThread;
using himeno::Relaxation;

constexpr std::size_t kArrays = 12;

/// The memory of an array that the box needs, as the host finds it. `halo`: with the points beside it.
template <class Float>
bool find(const FakeMemory& memory, const Relaxation& what, Float*& array, std::size_t halo) {
  const Box& box = what.box;
  const auto at = [&](std::size_t i, std::size_t j, std::size_t k) { return i * what.of.plane + j * what.of.row + k; };
  const std::size_t first = at(box.begin[0] - halo, box.begin[1] - halo, box.begin[2] - halo);
  const std::size_t last = at(box.end[0] - 1 + halo, box.end[1] - 1 + halo, box.end[2] - 1 + halo);
  auto* const found = static_cast<float*>(memory(array + first, (last - first + 1) * sizeof(float)));
  if (found == nullptr) return false;
  array = found - first;
  return true;
}

/// The same for all that a launch touches.
bool find_all(const FakeMemory& memory, Relaxation& what, bool with_sum) {
  const float** const arrays[kArrays] = {&what.of.a[0], &what.of.a[1], &what.of.a[2], &what.of.a[3],
                                         &what.of.b[0], &what.of.b[1], &what.of.b[2], &what.of.c[0],
                                         &what.of.c[1], &what.of.c[2], &what.of.bnd,  &what.of.wrk1};
  for (const float** array : arrays)
    if (!find(memory, what, *array, 0)) return false;
  if (!find(memory, what, what.pressure, 1) || !find(memory, what, what.next, 0)) return false;
  if (!with_sum) return true;
  what.sum = static_cast<std::uint64_t*>(memory(what.sum, himeno::kSumWords * sizeof(std::uint64_t)));
  return what.sum != nullptr;
}

/// Calls `work` for each thread of a launch.
template <class Work>
void for_each_thread(const cuda::Launch& launch, Work work) {
  const auto count = [&](std::size_t d) { return std::size_t{launch.blocks[d]} * launch.threads[d]; };
  for (std::size_t i = 0; i < count(2); ++i)
    for (std::size_t j = 0; j < count(1); ++j)
      for (std::size_t k = 0; k < count(0); ++k) work(GpuThread{{i, j, k}});
}

void relax(const cuda::Launch& launch, const Relaxation& what) {
  for_each_thread(launch, [&](const GpuThread& thread) {
    std::uint64_t words[himeno::kSumWords];
    himeno::to_words(himeno::relax_column(what, thread), words);
    for (std::size_t n = 0; n < himeno::kSumWords; ++n) what.sum[n] += words[n];
  });
}

void stream(const cuda::Launch& launch, const Relaxation& what) {
  for_each_thread(launch, [&](const GpuThread& thread) { himeno::stream_column(what, thread); });
}

FakeKernel kernel_of(void (*run)(const cuda::Launch&, const Relaxation&), bool with_sum) {
  return [run, with_sum](const cuda::Launch& launch, const FakeMemory& memory) -> std::function<void()> {
    Relaxation what{};
    // What the real one takes for granted.
    const bool is_whole = launch.threads[0] * launch.threads[1] * launch.threads[2] == himeno::kGpuThreads &&
                          launch.parameter.size() == sizeof what;
    if (!is_whole) return {};
    std::memcpy(&what, launch.parameter.data(), sizeof what);
    if (!find_all(memory, what, with_sum)) return {};
    return [run, launch, what] { run(launch, what); };
  };
}

}  // namespace

void provide_himeno(FakeCuda& api) {
  api.provide("himeno_relax", kernel_of(relax, true));
  api.provide("himeno_stream", kernel_of(stream, false));
}

}  // namespace coracle::internals::test
