// The cases of a CUDA device on a real GPU. Without one they are skipped (status 77), with --require-gpu that is a
// failure.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/himeno/gpu_device.hpp"
#include "runtime/core/error.hpp"
#include "runtime/pvas/address_space.hpp"
#include "tests/cuda/cases.hpp"
#include "tests/cuda/himeno_cases.hpp"
#include "tests/places.hpp"
#include "transports/cuda/failure.hpp"

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using cuda::TableWay;

namespace {

constexpr TableWay kWays[] = {TableWay::automatic, TableWay::one_by_one, TableWay::batch, TableWay::graph};
constexpr std::size_t kSharedBytes = 1 << 20;
constexpr int kSkipped = 77;

int devices() {
  return cuda::probe().devices;
}

/// The other process: what begins with seed 1 in its parent's memory becomes seed 2. Its handle comes by standard
/// input.
int change_opened() {
  cuda::IpcHandle handle;
  if (::read(0, handle.bytes.data(), handle.bytes.size()) != static_cast<ssize_t>(handle.bytes.size())) return 2;
  const std::unique_ptr<cuda::CudaApi> api = cuda::real_api();
  CountingHost host;
  cuda::CudaDevice device(*api, host, {});
  std::byte* const opened = device.open(handle, kSharedBytes);
  Area mine(*api, -1, kSharedBytes);
  const tca::Descriptor get{opened, mine.data(), kSharedBytes};
  const tca::Descriptor put{mine.data(), opened, kSharedBytes};
  const auto carry = [&](const tca::Descriptor& each, std::uint64_t sequence) {
    device.start(0, device.load({&each, 1}), sequence);
    while (device.completed(0) != sequence || !device.stopped(0)) device.advance(host.now_ns());
    return device.failure(0).empty();
  };
  if (!carry(get, 1) || mine.read() != random_bytes(kSharedBytes, 1)) return 3;
  mine.write(random_bytes(kSharedBytes, 2));
  return carry(put, 2) ? 0 : 4;
}

/// Runs this program anew, since CUDA does not survive a fork. Gives its exit status.
int run_other(const cuda::IpcHandle& handle) {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[0], 0);
    ::execl("/proc/self/exe", "gpu-tests", "--change-opened", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[0]);
  REQUIRE(::write(ends[1], handle.bytes.data(), handle.bytes.size()) == static_cast<ssize_t>(handle.bytes.size()));
  ::close(ends[1]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("gpu: random chains in all ways between all memories for many seeds") {
  const std::unique_ptr<cuda::CudaApi> api = cuda::real_api();
  for (const TableWay way : kWays) {
    random_chains(*api, way, -1, 0, 1);
    random_chains(*api, way, 0, -1, 2);
    random_chains(*api, way, 0, 0, 3);
    if (devices() < 2) continue;
    random_chains(*api, way, 0, 1, 4);
    random_chains(*api, way, 1, 0, 5);
  }
}

TEST_CASE("gpu: all channels work at a time") {
  const std::unique_ptr<cuda::CudaApi> api = cuda::real_api();
  for (unsigned channels = 1; channels <= cuda::CudaDevice::kChannelsMax; ++channels) all_channels(*api, channels);
}

TEST_CASE("gpu: long copies ring and short ones do not") {
  const std::unique_ptr<cuda::CudaApi> api = cuda::real_api();
  rings(*api);
}

TEST_CASE("gpu: tables are timed by the clock or by events") {
  const std::unique_ptr<cuda::CudaApi> api = cuda::real_api();
  times(*api);
}

TEST_CASE("gpu: segments are pinned when they are first used") {
  const std::unique_ptr<cuda::CudaApi> api = cuda::real_api();
  segments(*api);
}

TEST_CASE("gpu: refusals say what and why and how to mend it") {
  const std::unique_ptr<cuda::CudaApi> api = cuda::real_api();
  refusals(*api);
}

TEST_CASE("gpu: another process reads and writes device memory by its handle") {
  const std::unique_ptr<cuda::CudaApi> api = cuda::real_api();
  Area lent(*api, 0, kSharedBytes);
  lent.write(random_bytes(kSharedBytes, 1));
  CHECK(run_other(export_memory(*api, lent.memory())) == 0);
  CHECK(lent.read() == random_bytes(kSharedBytes, 2));
}

TEST_CASE("gpu: himeno's kernels give the processor's bits and sums") {
  REQUIRE_MESSAGE(himeno::gpu_code() != nullptr, "built without nvcc: install the CUDA toolkit, and configure again");
  const std::unique_ptr<cuda::CudaApi> api = cuda::real_api();
  himeno_boxes(*api, himeno::gpu_code());
  himeno_stream(*api, himeno::gpu_code());
}

TEST_CASE("gpu: himeno gives the serial run's residuals, on one and several ranks") {
  std::vector<std::string> places{"process", "thread"};
  if (pvas::probe().available) places.emplace_back("pvas");
  for (const std::string& place : places)
    for (const std::string grid : {"1x1x1", "2x1x1", "1x2x1", "1x1x2", "2x2x1"})
      for (const std::string size : {"--size XS --iterations 1100", "--size M --iterations 20"}) {
        const int ranks = (grid[0] - '0') * (grid[2] - '0') * (grid[4] - '0');
        const std::string command = in_build("apps/coracle") + " run --timeout 60s -n " + std::to_string(ranks) +
                                    " --place " + place + " " + in_build("apps/himeno") + " --verify " + size +
                                    " --device cuda --ranks-grid " + grid;
        CAPTURE(command);
        CHECK(std::system(command.c_str()) == 0);
      }
}

int main(int argc, char** argv) {
  bool required = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--change-opened") return change_opened();
    required = required || std::string_view(argv[i]) == "--require-gpu";
  }
  const cuda::Support support = cuda::probe();
  if (!support.available) {
    std::printf("%s: no GPU can be used: %s; %s\n", required ? "FAILED" : "skipped", support.detail.c_str(),
                support.remedy.c_str());
    return required ? 1 : kSkipped;
  }
  std::printf("%s\n", support.detail.c_str());
  return doctest::Context(argc, argv).run();
}
