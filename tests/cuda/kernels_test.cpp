// Kernels on the stand-in: coroutines await them, beside copies, and hear why they fail.
#include "transports/cuda/copy_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/rank/started.hpp"
#include "tests/cuda/cases.hpp"
#include "tests/cuda/test_kernels.hpp"

namespace kernels_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using cuda::Kernels;
using cuda::Launch;

namespace {

/// A loop with a module, and numbers on the device, all 0 at first.
struct Workplace {
  explicit Workplace(FakeCuda& cuda, const cuda::CudaOptions& options = {})
      : api(cuda), numbers(cuda, 0, kCount * sizeof(std::uint64_t)), kernels(loop, cuda, kCode, options) {
    numbers.write(std::vector<std::byte>(numbers.size()));
    parameter = {reinterpret_cast<std::uint64_t*>(numbers.data()), 1};
  }
  Launch launch() { return {kernels.find("add"), {10, 1, 1}, {100, 1, 1}, std::as_bytes(std::span(&parameter, 1))}; }
  bool all_are(std::uint64_t value) {
    const std::vector<std::byte> bytes = numbers.read();
    for (std::size_t i = 0; i < kCount; ++i)
      if (std::memcmp(bytes.data() + i * sizeof value, &value, sizeof value) != 0) return false;
    return true;
  }

  FakeCuda& api;
  Area numbers;
  Addition parameter{};
  EventLoop loop;
  Kernels kernels;
};

Task<> run_times(Kernels& kernels, tca::TableId table, int times) {
  for (int i = 0; i < times; ++i) co_await kernels.run(table);
}

std::string end_of_run(Workplace& at, tca::TableId table) {
  std::string ended;
  at.loop.run(run_and_tell(at.kernels, table, ended));
  return ended;
}

/// Copies while a kernel runs, and only then lets that go on.
Task<> copy_beside(Scope& scope, Kernels& kernels, cuda::CopyEngine& engine, tca::Descriptor what, Gate& gate) {
  const tca::TableId table = kernels.load({Gate::launch(kernels)});
  std::string ended;
  Started<> running = start(scope, run_and_tell(kernels, table, ended));
  co_await engine.copy(what);
  CHECK_FALSE(gate.passed);
  gate.held = false;
  co_await running.done();
  CHECK(ended == "well");
}

}  // namespace

TEST_CASE("kernels: run in their order, and with what their parameters hold by then") {
  for (const bool words : {true, false}) {
    FakeMachine machine({.stream_words = words});
    FakeCuda api(machine);
    api.provide("add", add);
    {
      Workplace at(api);
      const tca::TableId table = at.kernels.load({at.launch(), at.launch()});
      at.loop.run(run_times(at.kernels, table, 3));
      CHECK(at.all_are(6));
      at.parameter.value = 100;
      at.loop.run(run_times(at.kernels, table, 1));
      CHECK(at.all_are(206));
      CHECK(api.calls("launch_kernel") == 8);
    }
    for (const std::string& misuse : api.misuses()) FAIL_CHECK(misuse);
    CHECK(api.counts().none());
  }
}

TEST_CASE("kernels: a parameter as long as may be comes whole") {
  FakeMachine machine;
  FakeCuda api(machine);
  api.provide("keep", keep);
  Area kept(api, 0, sizeof(Largest));
  Largest what{kept.data(), {}};
  const std::vector<std::byte> bytes = random_bytes(what.bytes.size(), 3);
  std::copy(bytes.begin(), bytes.end(), what.bytes.begin());
  EventLoop loop;
  Kernels kernels(loop, api, kCode, {});
  const Launch launch{kernels.find("keep"), {1, 1, 1}, {1, 1, 1}, std::as_bytes(std::span(&what, 1))};
  loop.run(run_times(kernels, kernels.load({launch}), 1));
  const std::vector<std::byte> all = kept.read();
  CHECK(std::memcmp(all.data(), &what, sizeof what) == 0);
}

TEST_CASE("kernels: what fails is not run again, and says why") {
  FakeMachine machine;
  FakeCuda api(machine);
  api.provide("add", add);
  Workplace at(api);
  const tca::TableId table = at.kernels.load({at.launch()});
  machine.set({.refused_call = "launch_kernel", .refusals = 1, .refused_with = cuda::kInvalidValue});
  const std::string refused = end_of_run(at, table);
  CHECK(says(refused, "cudaErrorInvalidValue"));
  CHECK(api.calls("launch_kernel") == 1);
  CHECK(end_of_run(at, table) == "well");
  CHECK(at.all_are(1));
  machine.set({.failing_with = cuda::kIllegalAddress, .failing_kernels = 1});
  const std::string failed = end_of_run(at, table);
  CHECK(says(failed, "device 0 (stand-in 0)"));
  CHECK(says(failed, "cudaErrorIllegalAddress"));
  CHECK(says(failed, "compute-sanitizer"));
  CHECK(says(end_of_run(at, table), "cudaErrorIllegalAddress"));  // at once
}

TEST_CASE("kernels: memory that is not there is a misuse that the stand-in notes") {
  FakeMachine machine;
  FakeCuda api(machine);
  api.provide("add", add);
  Workplace at(api);
  const tca::TableId table = at.kernels.load({at.launch()});
  at.parameter.numbers += 1000;  // the last ones lie behind the allocation
  CHECK(says(end_of_run(at, table), "cudaErrorInvalidValue"));
  CHECK(api.misuses().size() == 1);
}

TEST_CASE("kernels: a stream that hangs is given up, and its code is left alone") {
  FakeMachine machine;
  FakeCuda api(machine);
  Gate gate(api);
  cuda::CudaOptions options;
  options.stuck_after_ns = 20'000'000;
  options.end_wait_ns = 1'000'000;
  EventLoop loop;
  {
    Kernels kernels(loop, api, kCode, options);
    std::string ended;
    loop.run(run_and_tell(kernels, kernels.load({Gate::launch(kernels)}), ended));
    CHECK(says(ended, "has not ended after"));
  }
  CHECK(api.counts().modules == 1);
  gate.held = false;
  while (!gate.passed) std::this_thread::yield();
}

TEST_CASE("kernels: copies go on beside them") {
  FakeMachine machine;
  FakeCuda api(machine);
  Gate gate(api);
  Area source(api, -1, 4096);
  Area target(api, 0, 4096);
  source.write(random_bytes(4096, 1));
  {
    EventLoop loop;
    Kernels kernels(loop, api, kCode, {});
    cuda::CopyEngine engine(loop, api);
    const tca::Descriptor what{source.data(), target.data(), 4096};
    loop.run(with_scope(copy_beside, std::ref(kernels), std::ref(engine), what, std::ref(gate)));
  }
  CHECK(target.read() == random_bytes(4096, 1));
  for (const std::string& misuse : api.misuses()) FAIL_CHECK(misuse);
}

TEST_CASE("kernels: refusals say what and why and how to mend it") {
  FakeMachine machine;
  FakeCuda api(machine);
  Workplace at(api);
  CHECK(says(message_of([&] { at.kernels.find("nothing"); }), "looking for kernel nothing"));
  CHECK(says(message_of([&] { at.kernels.load({}); }), "a table of kernels is empty"));
  CHECK(says(message_of([&] { at.kernels.load({Launch{}}); }), "launch 0 of 1 is of a kernel that was not found"));
  const std::vector<std::byte> long_one(cuda::kParameterBytesMax + 1);
  CHECK(says(message_of([&] {
               at.kernels.load({{nullptr, {1, 1, 1}, {1, 1, 1}, long_one}});
             }),
             "launch 0 of 1 has a parameter of 4097 bytes, and at most 4096 are possible"));
  machine.set({.refused_call = "load_module", .refusals = 1, .refused_with = cuda::kNoBinary});
  const std::string older = message_of([&] { Kernels(at.loop, api, kCode, {}); });
  CHECK(says(older, "loading kernels for device 0 (stand-in 0, compute 9.0)"));
  CHECK(says(older, "the GPU is older"));
}

}  // namespace kernels_test
