// Kernels that the owner of the GPUs launches for ranks, as threads of one process, on the stand-in; as tasks of a
// shared address space gpu_kernels.cpp has them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda/cases.hpp"
#include "tests/cuda/owner_node.hpp"
#include "tests/cuda/test_kernels.hpp"
#include "transports/cuda/owned_device.hpp"

namespace owned_kernels_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using namespace coracle::internals::cuda;
using State = DeviceOwnerRecord::State;

namespace {

constexpr unsigned kQueueOfKernels = Accelerator::kGpusMax;
static_assert(kCount * sizeof(std::uint64_t) >= sizeof(Largest));

std::unique_ptr<Kernels> load_at(Node& node, std::uint32_t rank, EventLoop& loop, OwnedMemory& api,
                                 const CudaOptions& options = {}) {
  const auto make = [&](CudaHost& host, const CudaOptions& own) {
    return std::make_unique<OwnedDevice>(std::make_shared<OwnerLink>(node.region, rank, kQueueOfKernels), api, host,
                                         own);
  };
  return std::make_unique<Kernels>(loop, make, kCode, options);
}

/// A rank with kernels, and numbers on its GPU, all 0 at first.
struct Computer {
  Computer(Node& node, std::uint32_t rank, const CudaOptions& options = {})
      : loop(real_clock(), &node.region.block(rank).doorbell),
        link(std::make_shared<OwnerLink>(node.region, rank)),
        api(*link),
        copies{options},
        engine(
            loop, [&](CudaHost& host) { return std::make_unique<OwnedDevice>(link, api, host, options); }, copies),
        numbers(allocate_on(api, options.device, kBytes)),
        seen(allocate_pinned(api, kBytes)),
        kernels(load_at(node, rank, loop, api, options)) {
    parameter = {reinterpret_cast<std::uint64_t*>(numbers.data()), 1};
  }

  Launch launch() { return {kernels->find("add"), {10, 1, 1}, {100, 1, 1}, std::as_bytes(std::span(&parameter, 1))}; }
  std::string end_of_run(tca::TableId table) {
    std::string ended;
    loop.run(run_and_tell(*kernels, table, ended));
    return ended;
  }
  static Task<> fetch(Computer& at) {
    const tca::Descriptor all{at.numbers.data(), at.seen.data(), kBytes};
    co_await at.engine.copy(all);
  }
  bool all_are(std::uint64_t value) {
    loop.run(fetch(*this));
    for (std::size_t i = 0; i < kCount; ++i)
      if (std::memcmp(seen.data() + i * sizeof value, &value, sizeof value) != 0) return false;
    return true;
  }

  static constexpr std::size_t kBytes = kCount * sizeof(std::uint64_t);

  EventLoop loop;
  std::shared_ptr<OwnerLink> link;
  OwnedMemory api;
  CopyOptions copies;
  CopyEngine engine;
  DeviceMemory numbers;
  PinnedMemory seen;
  Addition parameter{};
  std::unique_ptr<Kernels> kernels;
};

void check_all_given_back(Node& node) {
  node.end();
  for (const std::string& misuse : node.cuda.misuses()) FAIL_CHECK(misuse);
  CHECK(node.cuda.counts().none());
}

/// All that a rank has asked for when it dies: its kernel is under way.
void start_and_leave(Node& node, std::uint32_t rank) {
  OwnerLink link(node.region, rank, kQueueOfKernels);
  CudaOptions options;
  options.channels = 1;
  DeviceCommand command;
  command.kind = DeviceCommand::Kind::open_device;
  command.address = reinterpret_cast<std::uint64_t>(&options);
  link.call(command);
  command.kind = DeviceCommand::Kind::load_module;
  command.address = reinterpret_cast<std::uint64_t>(kCode);
  command.count = link.call(command).value;
  command.kind = DeviceCommand::Kind::find_kernel;
  command.address = reinterpret_cast<std::uint64_t>("wait");
  Launch launch;
  launch.kernel = reinterpret_cast<Kernel>(link.call(command).value);
  command.kind = DeviceCommand::Kind::load_kernels;
  command.address = reinterpret_cast<std::uint64_t>(&launch);
  command.count = 1;
  CHECK(link.call(command).text[0] == '\0');
  command.kind = DeviceCommand::Kind::start;
  command.sequence = 1;
  link.post(command);
}

/// As the launcher does.
void announce_loss(Node& node, std::uint32_t rank) {
  node.region.block(rank).phase = RankPhase::lost;
  node.region.losses().fetch_add(1);
  node.region.device_owner().doorbell.ring();
}

std::string thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code().message() + ": " + error.what();
  }
  return "nothing is thrown";
}

/// All that can go wrong, in words. The last one ends the device's context.
std::vector<std::string> failures(FakeMachine& machine, EventLoop& loop,
                                  const std::function<std::unique_ptr<Kernels>()>& make) {
  std::vector<std::string> all;
  const auto note = [&all](const std::function<void()>& call) { all.push_back(thrown_by(call)); };
  machine.set({.refused_call = "load_module", .refusals = 1, .refused_with = kNoBinary});
  note([&] { make(); });
  const std::unique_ptr<Kernels> kernels = make();
  note([&] { kernels->find("nothing"); });
  note([&] { kernels->load({}); });
  note([&] { kernels->load({Launch{}}); });
  const std::vector<std::byte> long_one(kParameterBytesMax + 1);
  const Kernel wait = kernels->find("wait");
  note([&] { kernels->load({{wait, {1, 1, 1}, {1, 1, 1}, long_one}}); });
  const auto end_of = [&](const Launch& launch) {
    std::string ended;
    loop.run(run_and_tell(*kernels, kernels->load({launch}), ended));
    all.push_back(ended);
  };
  end_of({wait, {1, 1, 1}, {2000, 1, 1}, {}});
  end_of({wait, {1, 1, 1}, {1, 1, 1}, {}});
  machine.set({.failing_with = kIllegalAddress, .failing_kernels = 1});
  end_of({wait, {1, 1, 1}, {1, 1, 1}, {}});
  end_of({wait, {1, 1, 1}, {1, 1, 1}, {}});
  return all;
}

}  // namespace

TEST_CASE("owned kernels: two ranks run theirs at a time, with what their parameters hold by then") {
  Node node;
  node.cuda.provide("add", add);
  node.work();
  const auto rank = [&node](std::uint32_t id) {
    CudaOptions options;
    options.device = static_cast<int>(id);
    Computer at(node, id, options);
    const tca::TableId twice = at.kernels->load({at.launch(), at.launch()});
    const tca::TableId once = at.kernels->load({at.launch()});
    std::uint64_t sum = 0;
    for (std::uint64_t round = 1; round <= 50; ++round) {
      at.parameter.value = round * (id + 1);
      CHECK(at.end_of_run(round % 3 == 0 ? once : twice) == "well");
      sum += at.parameter.value * (round % 3 == 0 ? 1 : 2);
    }
    CHECK(at.all_are(sum));
  };
  std::thread other(rank, 1);
  rank(0);
  other.join();
  check_all_given_back(node);
}

TEST_CASE("owned kernels: parameters as long as may be come whole, those of several launches apart") {
  Node node;
  node.cuda.provide("keep", keep);
  node.cuda.provide("add", add);
  node.work();
  {
    Computer at(node, 0);
    Largest what{at.numbers.data(), {}};
    const std::vector<std::byte> bytes = random_bytes(what.bytes.size(), 3);
    std::copy(bytes.begin(), bytes.end(), what.bytes.begin());
    const Launch whole{at.kernels->find("keep"), {1, 1, 1}, {1, 1, 1}, std::as_bytes(std::span(&what, 1))};
    const tca::TableId table = at.kernels->load({at.launch(), whole, at.launch(), whole});
    CHECK(at.end_of_run(table) == "well");
    at.loop.run(Computer::fetch(at));
    CHECK(std::memcmp(at.seen.data(), &what, sizeof what) == 0);
  }
  check_all_given_back(node);
}

TEST_CASE("owned kernels: what goes wrong has the words that it has in a process of one's own") {
  FakeMachine machine;
  FakeCuda cuda(machine);
  Gate gate(cuda);
  gate.held = false;
  EventLoop loop;
  const auto here = [&] { return std::make_unique<Kernels>(loop, cuda, kCode, CudaOptions()); };
  const std::vector<std::string> own = failures(machine, loop, here);
  Node node;
  Gate there_too(node.cuda);
  there_too.held = false;
  node.work();
  EventLoop rank(real_clock(), &node.region.block(0).doorbell);
  OwnerLink link(node.region, 0);
  OwnedMemory api(link);
  const auto there = [&] { return load_at(node, 0, rank, api); };
  CHECK(failures(node.machine, rank, there) == own);
  REQUIRE(own.size() == 9);
  CHECK(says(own[0], "the GPU is older"));
  CHECK(says(own[4], "has a parameter of 4097 bytes"));
  CHECK(says(own[5], "cudaErrorInvalidValue"));
  CHECK(own[6] == "well");
  CHECK(says(own[7], "cudaErrorIllegalAddress"));
}

TEST_CASE("owned kernels: code and streams of a rank that has died amid a kernel end when that rests") {
  Node node;
  Gate gate(node.cuda);
  node.cuda.provide("add", add);
  node.work();
  start_and_leave(node, 0);
  while (!gate.begun) std::this_thread::yield();
  {
    Computer other(node, 1);
    const int streams = node.cuda.counts().streams;
    announce_loss(node, 0);
    CHECK(other.end_of_run(other.kernels->load({other.launch()})) == "well");
    CHECK(node.cuda.counts().modules == 2);
    gate.held = false;
    while (node.cuda.counts().modules > 1) std::this_thread::yield();
    CHECK(node.cuda.counts().streams == streams - 1);
    CHECK(other.end_of_run(other.kernels->load({other.launch()})) == "well");
  }
  check_all_given_back(node);
}

TEST_CASE("owned kernels: what a rank gives back while another's kernel runs waits for that, but nobody else does") {
  Node node;
  Gate gate(node.cuda);
  node.cuda.provide("add", add);
  node.work();
  start_and_leave(node, 1);
  while (!gate.begun) std::this_thread::yield();
  std::optional<Computer> first(std::in_place, node, 0);
  CHECK(first->end_of_run(first->kernels->load({first->launch()})) == "well");
  const auto before = node.cuda.counts();
  first.reset();
  CHECK(node.cuda.counts().modules == before.modules);
  {
    Computer next(node, 0);
    CHECK(next.end_of_run(next.kernels->load({next.launch()})) == "well");
    CHECK_FALSE(gate.passed);
    gate.held = false;
    // The device of the kernels ends before that of the copies: when the code is unloaded, its streams are still there.
    while (node.cuda.counts().modules > before.modules || node.cuda.counts().streams > before.streams)
      std::this_thread::yield();
    CHECK(node.cuda.counts().modules == before.modules);
    CHECK(node.cuda.counts().streams == before.streams);
    CHECK(next.end_of_run(next.kernels->load({next.launch()})) == "well");
  }
  check_all_given_back(node);
}

TEST_CASE("owned kernels: what a rank has left is given back at the owner's end at the latest") {
  Node node;
  Gate gate(node.cuda);
  node.work();
  start_and_leave(node, 0);
  while (!gate.begun) std::this_thread::yield();
  CHECK(node.cuda.counts().modules == 1);
  gate.held = false;
  check_all_given_back(node);
}

TEST_CASE("owned kernels: requests that make no sense are refused, and harm nobody") {
  Node node;
  node.cuda.provide("add", add);
  node.work();
  Computer at(node, 0);
  OwnerLink link(node.region, 1, kQueueOfKernels);
  for (const DeviceCommand::Kind kind :
       {DeviceCommand::Kind::load_module, DeviceCommand::Kind::find_kernel, DeviceCommand::Kind::load_kernels}) {
    DeviceCommand command;
    command.kind = kind;
    CHECK(says(link.call(command).text.data(), "the rank has no device open"));
  }
  CudaOptions options;
  DeviceCommand command;
  command.kind = DeviceCommand::Kind::open_device;
  command.address = reinterpret_cast<std::uint64_t>(&options);
  CHECK(link.call(command).text[0] == '\0');
  command.kind = DeviceCommand::Kind::find_kernel;
  command.address = reinterpret_cast<std::uint64_t>("add");
  command.count = 77;
  CHECK(says(link.call(command).text.data(), "looking for kernel add in code that is not loaded"));
  // Another rank's kernel.
  const Launch launch = at.launch();
  command.kind = DeviceCommand::Kind::load_kernels;
  command.address = reinterpret_cast<std::uint64_t>(&launch);
  command.count = 1;
  CHECK(says(link.call(command).text.data(), "was not found on device 0"));
  command.table = ~std::uint32_t{0};
  CHECK(says(link.call(command).text.data(), "is not the number of a table to be loaded"));
  CHECK(at.end_of_run(at.kernels->load({at.launch()})) == "well");
}

TEST_CASE("owned kernels: when the owner has died all end with an error") {
  Node node;
  Gate gate(node.cuda);
  node.work();
  Computer at(node, 0);
  const tca::TableId table = at.kernels->load({Gate::launch(*at.kernels)});
  std::thread launcher([&] {
    while (!gate.begun) std::this_thread::yield();
    copy_text(node.region.device_owner().reason, "it was killed");
    node.leave_ranks_to(State::ended);
    node.region.block(0).doorbell.ring();
  });
  CHECK(says(at.end_of_run(table), "it was killed"));  // it had begun
  launcher.join();
  CHECK(says(at.end_of_run(table), "it was killed"));
  CHECK(message_of([&] { at.kernels->find("wait"); }) == "cuda: it was killed");
  CHECK(message_of([&] { at.kernels->load({Launch{}}); }) == "cuda: it was killed");
  gate.held = false;
}

TEST_CASE("owned kernels: one that hangs is given up, and nobody waits to unload code until it ends") {
  Node node;
  Gate gate(node.cuda);
  node.work();
  Computer well(node, 0);
  CudaOptions options;
  options.device = 1;
  options.stuck_after_ns = 20'000'000;
  options.end_wait_ns = 1'000'000;
  Computer hanging(node, 1, options);
  CHECK(says(hanging.end_of_run(hanging.kernels->load({Gate::launch(*hanging.kernels)})), "has not ended after"));
  well.kernels.reset();
  CHECK(node.cuda.counts().modules == 2);
  gate.held = false;
  while (!gate.passed) std::this_thread::yield();
}

}  // namespace owned_kernels_test
