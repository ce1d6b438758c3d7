// The Himeno benchmark: how fast the Poisson equation is solved by steps of Jacobi, in the original's words. See
// apps/himeno/solver.cpp for a step and for how neighbours exchange their points.
#include "apps/common/program.hpp"
#include "apps/himeno/benchmark.hpp"
#include "apps/himeno/gpu_device.hpp"

namespace himeno = coracle::himeno;

int main(int argc, char** argv) {
  return coracle::start(
      argc, argv, himeno::parse_options(argc, argv), [](coracle::Rank& self, const himeno::Options& options) {
        return himeno::run_all(self, options, {.device = options.gpu.value_or(0), .code = himeno::gpu_code()});
      });
}
