// Himeno's kernel for AVX-512.
#include "apps/himeno/kernel_loops.hpp"

namespace coracle::himeno {

const Kernel kAvx512Kernel = {"AVX-512", relax<Vectors<16>, Lanes<0, 1, 2, 3, 4, 5, 6, 7>>, stream<Vectors<16>>};

}  // namespace coracle::himeno
