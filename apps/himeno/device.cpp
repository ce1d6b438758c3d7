// Asks the CPU for its kernels, and runs one.
#include "apps/himeno/device.hpp"

#include <chrono>
#include <utility>

namespace coracle::himeno {
namespace {

double points_of(const Box& box) {
  double points = 1;
  for (std::size_t d = 0; d < 3; ++d) points *= static_cast<double>(box.end[d] - box.begin[d]);
  return points;
}

}  // namespace

Processor::Processor(Rank& self, const Triple& size, const Triple& ranks, const Kernel& kernel, double points_per_s)
    : self_(self),
      size_(size),
      kernel_(kernel),
      points_per_s_(points_per_s),
      block_(size, ranks, self.id()),
      fields_(block_),
      pressure_(self.allocate<float>(2 * block_.floats())) {}

float* Processor::origin(std::uint64_t state) const noexcept {
  return pressure_.data() + state % 2 * block_.floats() + block_.at(0, 0, 0);
}

Task<> Processor::fill_pressure() {
  for (const std::size_t array : {0U, 1U})
    himeno::fill_pressure(block_, size_, pressure_.data() + array * block_.floats());
  co_return;
}

std::size_t Processor::add_part(std::vector<Box> boxes) {
  parts_.push_back(std::move(boxes));
  return parts_.size() - 1;
}

Task<> Processor::relax(std::size_t part, std::uint64_t state, ExactSum& sum) {
  for (const Box& box : parts_[part]) {
    kernel_.relax(fields_.coefficients(), origin(state), origin(state + 1), box, sum);
    if (points_per_s_ <= 0) continue;
    const double ns = points_of(box) / points_per_s_ * 1e9;
    co_await self_.busy_for(std::chrono::nanoseconds(static_cast<std::int64_t>(ns)));
  }
}

Task<> Processor::stream(std::size_t part, std::uint64_t state) {
  for (const Box& box : parts_[part]) kernel_.stream(fields_.coefficients(), origin(state), origin(state + 1), box);
  co_return;
}

std::vector<const Kernel*> usable_kernels() {
  std::vector<const Kernel*> kernels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) kernels.push_back(&kAvx512Kernel);
  if (__builtin_cpu_supports("avx2")) kernels.push_back(&kAvx2Kernel);
#endif
  kernels.push_back(&kBaselineKernel);
  return kernels;
}

}  // namespace coracle::himeno
