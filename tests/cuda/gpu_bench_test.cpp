// `coracle bench dma --device cuda` on the stand-in: which rows come out, and that bytes that go wrong are noticed.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "apps/bench/dma/gpu.hpp"
#include "apps/common/command_line.hpp"
#include "runtime/core/error.hpp"
#include "tests/cuda/fake_cuda.hpp"

namespace gpu_bench_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using bench::GpuPlan;
using bench::Report;
using tca::Descriptor;

namespace {

GpuPlan tiny_plan() {
  GpuPlan plan;
  plan.plan = {2, 1e4, true};
  plan.large_bytes = 512 << 10;
  plan.sizes = {4 << 10, 512 << 10};
  plan.channels = {1, 4};
  plan.latency_sizes = {8, 4 << 10};
  plan.widths = {64, 4 << 10};
  plan.strided_bytes = 64 << 10;
  plan.chain_lengths = {16};
  plan.chain_blocks = {4 << 10};
  return plan;
}

/// Rows by figure and route.
std::map<std::string, int> rows_of(const Report& report) {
  std::map<std::string, int> rows;
  for (const bench::Table& table : report.tables())
    for (const bench::Row& row : table.rows)
      ++rows[row.details.at("figure").get<std::string>() + " " + row.details.at("route").get<std::string>()];
  return rows;
}

std::string message_of(cuda::CudaApi& api, const GpuPlan& plan) {
  try {
    static_cast<void>(bench::measure_gpu(api, plan));
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing is thrown";
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("bench dma on a GPU: every figure on every route, each beside its limit") {
  FakeMachine machine;
  FakeCuda api(machine);
  const Report report = bench::measure_gpu(api, tiny_plan());
  std::map<std::string, int> expected;
  for (const std::string route : {" to device", " to host", " within", " between"}) {
    expected["bandwidth" + route] = 2 * 2;
    expected["latency" + route] = 2;
    expected["rows" + route] = 2 * 2;
    expected["chains" + route] = 1;
  }
  CHECK(rows_of(report) == expected);
  for (const bench::Table& table : report.tables()) {
    CAPTURE(table.title);
    CHECK(says(table.title, "device 0 (stand-in 0)"));
    for (const bench::Row& row : table.rows) {
      CAPTURE(row.name);
      CHECK(row.value.min > 0);
      CHECK(row.limit.median > 0);
      CHECK_FALSE(row.limit_name.empty());
    }
  }
  for (const std::string& misuse : api.misuses()) FAIL_CHECK(misuse);
  CHECK(api.counts().none());
}

TEST_CASE("bench dma on a GPU: a table of blocks goes by every way") {
  FakeMachine machine({.devices = 1});
  FakeCuda api(machine);
  GpuPlan plan = tiny_plan();
  plan.sizes.clear();
  plan.latency_sizes.clear();
  plan.widths.clear();
  const Report report = bench::measure_gpu(api, plan);
  REQUIRE(report.tables().size() == 3);
  for (const bench::Table& table : report.tables()) {
    const bench::Row& row = table.rows.at(0);
    std::set<std::string> ways;
    for (const bench::OtherWay& other : row.others) ways.insert(other.name);
    CHECK(ways == std::set<std::string>{"one by one", "batch", "graph"});
    CHECK(row.details.at("automatic is") == "batch");
  }
  CHECK(api.calls("copy_batch") > 0);
  CHECK(api.calls("launch") > 0);
  CHECK(api.counts().none());
}

TEST_CASE("bench dma on a GPU: a way that the driver lacks is left out, with the reason") {
  FakeMachine machine({.devices = 1, .batches = false});
  FakeCuda api(machine);
  const Report report = bench::measure_gpu(api, tiny_plan());
  for (const bench::Table& table : report.tables()) {
    for (const bench::Row& row : table.rows) {
      if (row.details.at("figure") != "chains") continue;
      CHECK(row.others.size() == 2);
      CHECK(says(row.details.at("refused").at("batch").get<std::string>(), "channel 0: "));
      CHECK(row.details.at("automatic is") == "graph");
    }
  }
  CHECK(api.counts().none());
}

TEST_CASE("bench dma on a GPU: devices that do not reach each other, and none but one, and no such device") {
  FakeMachine apart({.peers = false});
  FakeCuda staged(apart);
  GpuPlan plan = tiny_plan();
  plan.device = 1;
  const Report report = bench::measure_gpu(staged, plan);
  CHECK(rows_of(report).at("bandwidth between") == 4);
  const bench::Row& chain = report.tables().back().rows.back();
  CHECK(chain.details.at("route") == "between");
  CHECK(says(chain.details.at("refused").at("graph").get<std::string>(), "can't be a graph"));
  CHECK(staged.calls("copy_peer") > 0);
  for (const std::string& misuse : staged.misuses()) FAIL_CHECK(misuse);
  FakeMachine alone({.devices = 1});
  FakeCuda single(alone);
  CHECK(rows_of(bench::measure_gpu(single, tiny_plan())).count("bandwidth between") == 0);
  CHECK(says(message_of(single, plan), "there is no device 1: this process sees 1"));
  CHECK(single.counts().none());
}

TEST_CASE("bench dma on a GPU: copies that land wrong are noticed") {
  for (const unsigned wrong : {1U, 1'000'000U}) {
    CAPTURE(wrong);
    FakeMachine machine;
    FakeCuda api(machine);
    machine.set({.wrong_copies = wrong});
    // One: what is sent to the device once, and from there to everywhere.
    CHECK(says(message_of(api, tiny_plan()), "its copy has gone wrong"));
  }
}

TEST_CASE("bench dma on a GPU: a device that fails ends the benchmark with its name for it") {
  FakeMachine machine;
  FakeCuda api(machine);
  machine.set({.refused_call = "launch", .accepted = 3, .refusals = 100, .refused_with = cuda::kLaunchFailure});
  CHECK(says(message_of(api, tiny_plan()), "cudaErrorOther"));
}

TEST_CASE("bench dma on a GPU: any byte of a target that is not what it should be is found") {
  std::vector<std::byte> random(64);
  for (std::size_t i = 0; i < random.size(); ++i) random[i] = static_cast<std::byte>(i * 37 + 1);
  std::vector<std::byte> image(64, std::byte{0xa5});
  const std::byte* const source = random.data();
  // Its place in the measured memory; only distances count.
  std::byte* const target = image.data();
  const std::vector<Descriptor> chain{{source + 3, target + 8, 5, 3, 7, 9}, {source + 40, target + 50, 4}};
  for (std::size_t row = 0; row < 3; ++row) std::copy_n(source + 3 + row * 7, 5, target + 8 + row * 9);
  std::copy_n(source + 40, 4, target + 50);
  const auto found = [&] { return bench::first_wrong(chain, source, random, target, image, std::byte{0xa5}); };
  CHECK(found() == image.size());
  for (std::size_t at = 0; at < image.size(); ++at) {
    image[at] ^= std::byte{1};
    CHECK(found() == at);
    image[at] ^= std::byte{1};
  }
}

TEST_CASE("bench dma: --device names the model or a GPU") {
  CHECK_FALSE(bench::gpu_device("peach2").has_value());
  CHECK(bench::gpu_device("cuda") == 0);
  CHECK(bench::gpu_device("cuda:12") == 12);
  for (const char* word : {"", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999999999", "cudas", "gpu"}) {
    CAPTURE(word);
    CHECK_THROWS_AS(bench::gpu_device(word), WrongUsage);
  }
}

}  // namespace gpu_bench_test
