// Himeno's kernels for GPUs, run on the host by the stand-in.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>

#include "apps/himeno/gpu_device.hpp"
#include "tests/cuda/himeno_cases.hpp"
#include "tests/cuda/himeno_kernels.hpp"

namespace himeno_kernels_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;

namespace {

constexpr char kCode[] = "a module";

void check_well(FakeCuda& api) {
  CHECK(api.calls("launch_kernel") > 0);
  for (const std::string& misuse : api.misuses()) FAIL_CHECK(misuse);
  CHECK(api.counts().none());
}

}  // namespace

TEST_CASE("himeno's kernels: the processor's bits and sums, in boxes of all shapes") {
  FakeMachine machine;
  FakeCuda api(machine);
  provide_himeno(api);
  himeno_boxes(api, kCode);
  check_well(api);
}

TEST_CASE("himeno's kernels: passing through the memory touches the box and nothing else") {
  FakeMachine machine;
  FakeCuda api(machine);
  provide_himeno(api);
  himeno_stream(api, kCode);
  check_well(api);
}

TEST_CASE("himeno's kernels: threads cover each box, in blocks that sums have room for") {
  for (const std::size_t i : {1U, 2U, 30U, 600U})
    for (const std::size_t j : {1U, 3U, 62U, 510U})
      for (const std::size_t k : {1U, 16U, 62U, 1022U}) {
        const himeno::Box box{{1, 1, 1}, {i + 1, j + 1, k + 1}};
        const himeno::GpuShape shape = himeno::shape_of(box);
        CAPTURE(i);
        CAPTURE(j);
        CAPTURE(k);
        CHECK(shape.threads[0] * shape.threads[1] * shape.threads[2] == himeno::kGpuThreads);
        CHECK(shape.threads[2] <= 64);
        CHECK(std::has_single_bit(shape.threads[0]));
        CHECK(shape.blocks[0] * shape.threads[0] >= k);
        CHECK(shape.blocks[1] * shape.threads[1] >= j);
        CHECK(shape.blocks[2] * shape.threads[2] * shape.depth >= i);
        CHECK(shape.depth >= 1);
        CHECK(shape.depth <= himeno::kGpuDepthMax);
        CHECK(std::max(shape.blocks[1], shape.blocks[2]) < 1U << 16U);
      }
}

}  // namespace himeno_kernels_test
