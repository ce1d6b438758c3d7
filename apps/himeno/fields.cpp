// One piece of memory for the twelve arrays, on large pages where the kernel gives them.
#include "apps/himeno/fields.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <tuple>
#include <utility>

namespace coracle::himeno {
namespace {

constexpr std::size_t kArrays = std::tuple_size_v<decltype(constants_of(std::declval<Coefficients&>()))>;
// Arrays begin so many floats beside a multiple of a page from each other: a kernel reads all of them at the same
// place, and the lines of one place in equal pages would meet in the same sets of the cache.
constexpr std::size_t kSkew = 5 * 64 / sizeof(float);
constexpr std::size_t kPageFloats = 4096 / sizeof(float);

}  // namespace

void fill_pressure(const Block& block, const Triple& size, float* array) {
  for (std::size_t i = 0; i < block.count()[0] + 2; ++i)
    std::fill_n(array + i * block.plane(), block.plane(), first_pressure(block.first()[0] - 1 + i, size[0]));
}

std::array<Constant, 12> constants_of(Coefficients& of) noexcept {
  return {{{&of.a[0], 1.0F},
           {&of.a[1], 1.0F},
           {&of.a[2], 1.0F},
           {&of.a[3], 1.0F / 6.0F},
           {&of.b[0], 0.0F},
           {&of.b[1], 0.0F},
           {&of.b[2], 0.0F},
           {&of.c[0], 1.0F},
           {&of.c[1], 1.0F},
           {&of.c[2], 1.0F},
           {&of.bnd, 1.0F},
           {&of.wrk1, 0.0F}}};
}

void Fields::Free::operator()(float* memory) const noexcept {
  std::free(memory);
}

Fields::Fields(const Block& block) : coefficients_{} {
  constexpr std::size_t kHugePage = std::size_t{2} << 20U;
  const std::size_t distance = (block.floats() + kPageFloats - 1) / kPageFloats * kPageFloats + kSkew;
  const std::size_t bytes = (distance * kArrays * sizeof(float) + kHugePage - 1) / kHugePage * kHugePage;
  memory_.reset(static_cast<float*>(std::aligned_alloc(kHugePage, bytes)));
  if (!memory_) throw std::bad_alloc();
  ::madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // only a hint
  float* next = memory_.get();
  for (const auto& [array, value] : constants_of(coefficients_)) {
    std::fill_n(next, block.floats(), value);
    *array = next + block.at(0, 0, 0);  // a row's point 0 lies just before the aligned point 1
    next += distance;
  }
  coefficients_.plane = block.plane();
  coefficients_.row = block.row();
}

}  // namespace coracle::himeno
