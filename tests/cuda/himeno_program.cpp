// The program `himeno` as it is, but with the stand-in for CUDA: every rank runs it (`coracle run --place
// process|thread`), with --device cuda and what else a user gives. Exit status 0 when the benchmark ends well, its
// kernels have run, and nothing of CUDA was misused. There is one device. CORACLE_GPU_WITHOUT: what is missing:
// kernels, devices, or luck, so that a kernel fails.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "apps/himeno/benchmark.hpp"
#include "apps/program.hpp"
#include "tests/cuda/himeno_kernels.hpp"

using namespace coracle;

namespace {

constexpr char kCode[] = "a module";

std::string_view lacking() {
  const char* const what = std::getenv("CORACLE_GPU_WITHOUT");
  return what == nullptr ? "" : what;
}

test::FakeMachine& machine() {
  static test::FakeMachine machine({.devices = lacking() == "devices" ? 0 : 1});
  return machine;
}

/// Of this process: ranks that are threads share it, as they would share a driver.
test::FakeCuda& driver() {
  static test::FakeCuda cuda(machine());
  return cuda;
}

Task<> program(Rank& self, const himeno::Options& options) {
  const himeno::GpuChoice gpu{options.gpu.value_or(0), &driver(), lacking() == "kernels" ? nullptr : kCode};
  co_await himeno::run_all(self, options, gpu);
  if (!options.gpu || driver().calls("launch_kernel") == 0)
    throw Error(Errc::bad_input, "no kernel has run: give --device cuda");
  for (const std::string& misuse : driver().misuses())
    throw Error(Errc::bad_input, fmt::format("the driver was misused: {}", misuse));
}

}  // namespace

int main(int argc, char** argv) {
  test::provide_himeno(driver());
  if (lacking() == "luck") machine().set({.failing_with = cuda::kLaunchFailure, .failing_kernels = 1});
  return start(argc, argv, himeno::parse_options(argc, argv), program);
}
