// Which of the kernels this machine's CPU can run.
#pragma once

#include <vector>

#include "apps/himeno/kernel.hpp"

namespace coracle::himeno {

/// All of them, the fastest first.
std::vector<const Kernel*> usable_kernels();

}  // namespace coracle::himeno
