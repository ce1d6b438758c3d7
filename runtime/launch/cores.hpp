// Which cores a job may use, in the order in which ranks are put on them.
#pragma once

#include <vector>

namespace coracle::internals {

/// One entry per core that this process may run on, neighbours in the machine's topology side by side; each holds the
/// numbers of the core's usable hardware threads. Throws Error when the topology can't be read.
std::vector<std::vector<int>> usable_cores();

}  // namespace coracle::internals
