// Asks the CPU.
#include "apps/himeno/kernels.hpp"

namespace coracle::himeno {

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
