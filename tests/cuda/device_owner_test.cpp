// The owner of the GPUs and ranks that ask it, as threads of one process, on the stand-in; as tasks of a shared address
// space gpu_buffers.cpp has them.
#include "transports/cuda/device_owner.hpp"

#include <doctest/doctest.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/error.hpp"
#include "runtime/thread_sanitizer.hpp"
#include "tests/cuda/cases.hpp"
#include "tests/cuda/owner_node.hpp"
#include "transports/cuda/copy_engine.hpp"
#include "transports/cuda/owned_api.hpp"
#include "transports/cuda/owned_device.hpp"

using namespace coracle;
using namespace coracle::test;
using namespace coracle::cuda;
using tca::Descriptor;
using State = DeviceOwnerRecord::State;

namespace {

constexpr std::size_t kBytes = 256 << 10;

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// A rank with a GPU, memory there, and pinned memory on both ends of what it copies.
struct Asker {
  Asker(Node& node, std::uint32_t rank, const CopyOptions& options = {})
      : loop(real_clock(), &node.region.block(rank).doorbell),
        link(std::make_shared<OwnerLink>(node.region, rank)),
        api(*link),
        engine(
            loop, [&](CudaHost& host) { return std::make_unique<OwnedDevice>(link, api, host, options.device); },
            options),
        source(allocate_pinned(api, kBytes)),
        target(allocate_pinned(api, kBytes)),
        device(allocate_on(api, options.device.device, kBytes)) {
    if (rank == 1) loop.set_idle_policy({0, 0});  // sleeps as soon as it has nothing to do
  }

  EventLoop loop;
  std::shared_ptr<OwnerLink> link;
  OwnedApi api;
  CopyEngine engine;
  PinnedMemory source;
  PinnedMemory target;
  DeviceMemory device;
};

/// There and back, whole and in pieces of any size and shape.
Task<> there_and_back(Asker& at, std::uint64_t seed, unsigned rounds) {
  std::mt19937_64 random(seed);
  for (unsigned round = 0; round < rounds; ++round) {
    const std::vector<std::byte> bytes = random_bytes(kBytes, random());
    std::memcpy(at.source.data(), bytes.data(), kBytes);
    std::memset(at.target.data(), 0xa5, kBytes);
    std::vector<Descriptor> pieces;
    for (std::size_t begin = 0; begin < kBytes;) {
      const std::size_t piece = std::min<std::size_t>(1 + random() % 9'000, kBytes - begin);
      pieces.push_back({at.source.data() + begin, at.device.data() + begin, piece});
      begin += piece;
    }
    co_await at.engine.chain(pieces, static_cast<unsigned>(random() % 4));
    const Descriptor whole{at.device.data(), at.target.data(), kBytes};
    co_await at.engine.copy(whole);
    REQUIRE(std::equal(bytes.begin(), bytes.end(), at.target.data()));
  }
}

/// How a copy of the first bytes to the GPU has ended, in words.
Task<> copy_and_tell(Asker& at, std::string& ended) {
  const Descriptor piece{at.source.data(), at.device.data(), 1000};
  try {
    co_await at.engine.chain({&piece, 1}, 1);
    ended = "well";
  } catch (const Error& error) {
    ended = error.what();
  }
}

std::string end_of(Asker& at) {
  std::string end;
  at.loop.run(copy_and_tell(at, end));
  return end;
}

}  // namespace

TEST_CASE("device owner: two ranks copy by it at a time and all bytes land, for many seeds") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    Node node;
    node.work();
    const auto rank = [&node, seed](std::uint32_t id) {
      CopyOptions options;
      options.device.device = static_cast<int>(id);
      if (seed % 2 == 0) options.device.ring_from_ns = 0;
      Asker at(node, id, options);
      at.loop.run(there_and_back(at, seed * 10 + id, 8));
    };
    std::thread other(rank, 1);
    rank(0);
    other.join();
    node.end();
    for (const std::string& misuse : node.cuda.misuses()) FAIL_CHECK(misuse);
    CHECK(node.cuda.counts().none());
  }
}

TEST_CASE("device owner: what the driver refuses fails that copy by the driver's name and no other") {
  Node node;
  node.work();
  Asker at(node, 0);
  CHECK(end_of(at) == "well");
  FakeFaults faults;
  faults.refused_call = "copy";
  faults.refusals = 3;  // the engine tries three times
  faults.refused_with = kInvalidHandle;
  node.machine.set(faults);
  CHECK(says(end_of(at), "device 0 (stand-in 0), channel 1: cudaErrorOther"));
  CHECK(end_of(at) == "well");
  faults.refused_call = "allocate";
  faults.refusals = 1;
  faults.refused_with = kOutOfMemory;
  node.machine.set(faults);
  std::string refusal;
  try {
    (void)allocate_on(at.api, 0, 4096);
  } catch (const Error& error) {
    refusal = error.what();
  }
  CHECK(says(refusal, "4096 bytes on device 0: cudaErrorMemoryAllocation"));
}

TEST_CASE("device owner: a device that can't be opened is refused with its own error") {
  Node node;
  node.work();
  CopyOptions options;
  options.device.device = 99;
  std::error_code code;
  std::string text;
  try {
    const Asker at(node, 0, options);
  } catch (const Error& error) {
    code = error.code();
    text = error.what();
  }
  CHECK(code == Errc::bad_input);
  CHECK(says(text, "there is no device 99"));
  Asker again(node, 0);  // the desk serves the next
  CHECK(end_of(again) == "well");
}

TEST_CASE("device owner: an error of the device ends what is under way there, and nothing hangs") {
  Node node;
  node.work();
  Asker at(node, 0);
  CopyOptions other;
  other.device.device = 1;
  node.machine.set({.failing_copies = 1});
  CHECK(says(end_of(at), "cudaErrorIllegalAddress"));
  CHECK(says(end_of(at), "cudaErrorIllegalAddress"));
  Asker well(node, 1, other);
  CHECK(end_of(well) == "well");
}

TEST_CASE("device owner: when it has died all operations end with an error") {
  Node node;
  node.work();
  Asker at(node, 0);
  std::string under_way;
  node.machine.set({.stalls = 1});
  std::thread launcher([&node] {
    while (!node.cuda.stalled()) std::this_thread::yield();
    copy_text(node.region.device_owner().reason, "it was killed");
    node.leave_ranks_to(State::ended);
    node.region.block(0).doorbell.ring();
  });
  CHECK(says(end_of(at), "it was killed"));  // it had begun
  launcher.join();
  CHECK(says(end_of(at), "it was killed"));
  CHECK_THROWS_WITH_AS((void)allocate_pinned(at.api, 4096),
                       "cuda: 4096 bytes of pinned host memory: the owner of the GPUs is gone (cuda: it was killed)",
                       Error);
  CHECK_THROWS_AS(Asker(node, 1), Error);
  node.cuda.resume();
}

TEST_CASE("device owner: one that does not answer is given up, after a second look") {
  Node node;
  node.work();
  CountingHost host;
  const auto link = std::make_shared<OwnerLink>(node.region, 0);
  OwnedApi api(*link);
  CudaOptions options;
  options.stuck_after_ns = 1'000'000'000'000;  // the owner has patience with its stream
  OwnedDevice device(link, api, host, options);
  const PinnedMemory source = allocate_pinned(api, 4096);
  const DeviceMemory target = allocate_on(api, 0, 4096);
  const Descriptor piece{source.data(), target.data(), 4096};
  const tca::TableId table = device.load({&piece, 1});
  node.machine.set({.stalls = 1});
  device.start(0, table, 1);
  CHECK(host.alarm_ns > host.now_ns() + options.stuck_after_ns);
  device.advance(host.alarm_ns - 1);
  CHECK_FALSE(device.stopped(0));
  device.advance(host.alarm_ns);  // this process may have been stopped
  CHECK_FALSE(device.stopped(0));
  device.advance(host.alarm_ns);
  CHECK(device.stopped(0));
  CHECK(device.completed(0) == 1);
  CHECK(says(device.failure(0), "does not answer"));
  device.start(0, table, 2);
  CHECK(device.completed(0) == 2);
  CHECK(says(device.failure(0), "does not answer"));
  while (!node.cuda.stalled()) std::this_thread::yield();
  node.cuda.resume();
}

TEST_CASE("device owner: one that the driver keeps busy is not given up before that may be over") {
  Node node;
  node.work();
  CountingHost host;
  const auto link = std::make_shared<OwnerLink>(node.region, 0);
  OwnedApi api(*link);
  OwnedDevice device(link, api, host, {});
  CHECK_FALSE(link->busy());
  const PinnedMemory source = allocate_pinned(api, 4096);
  const DeviceMemory target = allocate_on(api, 0, 4096);
  const Descriptor piece{source.data(), target.data(), 4096};
  const tca::TableId table = device.load({&piece, 1});
  node.machine.set({.stalls = 1});
  device.start(0, table, 1);
  auto& desks = *reinterpret_cast<Desks*>(node.region.device_owner().desks.load());
  desks.busy_until_ns = real_clock().now_ns() + 1'000'000'000'000;
  CHECK(link->busy());
  for (int look = 0; look < 4; ++look) device.advance(host.alarm_ns);
  CHECK_FALSE(device.stopped(0));
  desks.busy_until_ns = real_clock().now_ns();
  CHECK_FALSE(link->busy());
  for (int look = 0; look < 2; ++look) device.advance(host.alarm_ns);
  CHECK(device.stopped(0));
  while (!node.cuda.stalled()) std::this_thread::yield();
  node.cuda.resume();
}

TEST_CASE("device owner: who gives it up has the launcher kill it first, and waits for that") {
  Node node;
  node.work();
  DeviceOwnerRecord& record = node.region.device_owner();
  record.wanted = DeviceOwnerRecord::Wish::start;
  record.call_fd = ::eventfd(0, EFD_NONBLOCK);
  OwnerLink link(node.region, 0);
  OwnerLink other(node.region, 1);
  link.give_up("it does not answer");
  link.give_up("it does not answer");
  CHECK_FALSE(link.gone());
  CHECK(record.wanted == DeviceOwnerRecord::Wish::kill);
  std::uint64_t calls = 0;
  CHECK(::read(record.call_fd, &calls, sizeof calls) == sizeof calls);
  CHECK(calls == 1);
  copy_text(record.reason, "it was killed");
  record.state = State::ended;
  CHECK(link.gone());
  link.give_up("it does not answer");
  CHECK(link.why_gone() == "it was killed");
  CHECK(other.gone());
  ::close(record.call_fd);
  record.call_fd = -1;
}

TEST_CASE("device owner: more requests than a ring holds wait at their rank, in order") {
  Node node;
  OwnerLink link(node.region, 1);
  Request request;
  request.kind = Request::Kind::start;  // of a table that is not there: each ends with that
  std::uint64_t posted = 0;
  for (request.sequence = 1; request.sequence <= 3 * RequestRing::kRoom; ++request.sequence)
    posted = link.post(request);
  CHECK(posted == 3 * RequestRing::kRoom);
  CHECK(link.taken() == 0);
  Doorbell& mine = node.region.block(1).doorbell;
  mine.announce(Doorbell::kOnFutex);
  node.work();
  while (link.channel(0).over.load() < posted) {
    // The owner rings when there is room; who sleeps until then misses nothing.
    mine.sleep_on_futex(std::nullopt);
    mine.announce(Doorbell::kOnFutex);
    link.flush();
  }
  CHECK(link.channel(0).over == posted);
  CHECK(says(link.channel(0).failure.data(), "no memory for a table"));
}

#ifndef CORACLE_THREAD_SANITIZER
TEST_CASE("the stand-in, as the driver, refuses all processes but the one that has begun") {
  FakeMachine machine;
  FakeCuda api(machine);
  int count = 0;
  REQUIRE(api.device_count(count) == kSuccess);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    void* memory = nullptr;
    ::_exit(api.allocate(memory, 4096) == kInitializationError && api.device_count(count) == kInitializationError ? 0
                                                                                                                  : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
#endif
