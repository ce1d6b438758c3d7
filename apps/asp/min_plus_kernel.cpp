// The instruction sets of the min-plus kernels. This source is compiled once for each of them (see meson.build), and
// gives the kernel of that one: AVX-512, AVX2, or four lanes for any machine, which are SSE on x86-64.
#include "apps/asp/min_plus_kernel.hpp"

namespace coracle::asp {

#if defined(ASP_AVX512)
/// 16 rows-by-columns sums, 4 pivots and a coefficient in 21 of 32 registers.
const MinPlusKernel kMinPlusAvx512 = kernel_of<Floats<16>, 4, kSaturateChains>("AVX-512");
#elif defined(ASP_AVX2)
/// 8 sums, 2 pivots and a coefficient in 11 of 16 registers.
const MinPlusKernel kMinPlusAvx2 = kernel_of<Floats<8>, 2, 8>("AVX2");
#elif defined(__SSE2__)
const MinPlusKernel kMinPlusBaseline = kernel_of<Floats<4>, 2, 8>("SSE");
#else
const MinPlusKernel kMinPlusBaseline = kernel_of<Floats<4>, 2, 8>("portable");
#endif

}  // namespace coracle::asp
