// Himeno's kernel for AVX2.
#include "apps/himeno/kernel_loops.hpp"

namespace coracle::himeno {

const Kernel kAvx2Kernel = {"AVX2", relax<Vectors<8>, Lanes<0, 1, 2, 3>>, stream<Vectors<8>>};

}  // namespace coracle::himeno
