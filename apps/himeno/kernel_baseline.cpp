// Himeno's kernel for any machine: four lanes, which are SSE on x86-64, NEON on ARM.
#include "apps/himeno/kernel_loops.hpp"

namespace coracle::himeno {

const Kernel kBaselineKernel = {"baseline", relax<Vectors<4>, Lanes<0, 1>>, stream<Vectors<4>>};

}  // namespace coracle::himeno
