// The program `himeno` as it is, but with the stand-in for CUDA: every rank runs it (`coracle run --place
// pvas|process|thread`), with --device cuda and what else a user gives. Exit status 0 when the benchmark ends well, its
// kernels have run, and nothing of CUDA was misused. There is one device. CORACLE_GPU_WITHOUT: what is missing:
// kernels, devices, or luck, so that a kernel fails.
#include <cstdlib>
#include <string_view>

#include "apps/common/program.hpp"
#include "apps/himeno/benchmark.hpp"
#include "tests/cuda/gpu_program.hpp"
#include "tests/cuda/himeno_kernels.hpp"

using namespace coracle;
using namespace coracle::internals;

namespace {

constexpr char kCode[] = "a module";

std::string_view lacking() {
  const char* const what = std::getenv("CORACLE_GPU_WITHOUT");
  return what == nullptr ? "" : what;
}

/// Asked in the process that makes the calls.
bool kernels_have_run() {
  return test::driver().calls("launch_kernel") > 0;
}

Task<> program(Rank& self, const himeno::Options& options) {
  const himeno::GpuChoice gpu{options.gpu.value_or(0), &test::driver(), lacking() == "kernels" ? nullptr : kCode};
  co_await himeno::run_all(self, options, gpu);
  if (self.placement() == Placement::pvas)
    test::require(test::driver().calls() == 0, "no rank calls the driver itself");
  else
    test::require(kernels_have_run(), "a kernel has run: give --device cuda");
  test::require_no_misuse();
}

int own_devices() {
  const int status = test::own_devices();
  return kernels_have_run() ? status : 1;
}

}  // namespace

int main(int argc, char** argv) {
  test::abilities.devices = lacking() == "devices" ? 0 : 1;
  test::provide_himeno(test::driver());
  test::FakeFaults faults;
  faults.failing_with = cuda::kLaunchFailure;
  faults.failing_kernels = lacking() == "luck" ? 1 : 0;
  test::machine().set(faults);
  if (test::owns_devices()) return own_devices();
  return start(argc, argv, himeno::parse_options(argc, argv), program);
}
