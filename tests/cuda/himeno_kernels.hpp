// Himeno's kernels on the stand-in: what their threads do, one after another.
#pragma once

#include "tests/cuda/fake_cuda.hpp"

namespace coracle::internals::test {

/// Gives the stand-in himeno_relax and himeno_stream, by the source that GPUs run.
void provide_himeno(FakeCuda& api);

}  // namespace coracle::internals::test
