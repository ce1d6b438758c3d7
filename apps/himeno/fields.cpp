// One piece of memory for the twelve arrays, on large pages where the kernel gives them.
#include "apps/himeno/fields.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace coracle::himeno {
namespace {

constexpr std::size_t kArrays = 12;
// Arrays begin so many floats beside a multiple of a page from each other: a kernel reads all of them at the same
// place, and the lines of one place in equal pages would meet in the same sets of the cache.
constexpr std::size_t kSkew = 5 * 64 / sizeof(float);
constexpr std::size_t kPageFloats = 4096 / sizeof(float);

}  // namespace

void fill_pressure(const Block& block, const Triple& size, float* array) {
  for (std::size_t i = 0; i < block.count()[0] + 2; ++i)
    std::fill_n(array + i * block.plane(), block.plane(), first_pressure(block.first()[0] - 1 + i, size[0]));
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
  std::size_t made = 0;
  const auto make = [&](float value) {
    // A row's point 0 lies just before the aligned point 1.
    float* const array = memory_.get() + made++ * distance;
    std::fill_n(array, block.floats(), value);
    return array + block.at(0, 0, 0);
  };
  for (std::size_t m = 0; m < 4; ++m) coefficients_.a[m] = make(m < 3 ? 1.0F : 1.0F / 6.0F);
  for (const float*& b : coefficients_.b) b = make(0.0F);
  for (const float*& c : coefficients_.c) c = make(1.0F);
  coefficients_.bnd = make(1.0F);
  coefficients_.wrk1 = make(0.0F);
  coefficients_.plane = block.plane();
  coefficients_.row = block.row();
}

}  // namespace coracle::himeno
