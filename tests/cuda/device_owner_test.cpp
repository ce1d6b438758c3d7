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

#include "runtime/core/error.hpp"
#include "runtime/core/thread_sanitizer.hpp"
#include "tests/cuda/cases.hpp"
#include "tests/cuda/owner_node.hpp"
#include "transports/cuda/copy_engine.hpp"
#include "transports/cuda/owned_device.hpp"

namespace device_owner_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using namespace coracle::internals::cuda;
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
  OwnedMemory api;
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
  Asker again(node, 0);  // the queue serves the next
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

namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

/// A rank's device and a table there, without an event loop.
struct DeviceOfRank {
  explicit DeviceOfRank(Node& node)
      : link(std::make_shared<OwnerLink>(node.region, 0)),
        api(*link),
        device(link, api, host, {}),
        source(allocate_pinned(api, 4096)),
        target(allocate_on(api, 0, 4096)) {
    const Descriptor piece{source.data(), target.data(), 4096};
    table = device.load({&piece, 1});
    await_owner();
  }
  /// Until the owner has done all that it has been asked.
  void await_owner() const {
    DeviceCommand nothing;
    nothing.kind = DeviceCommand::Kind::sign;
    const std::uint64_t asked = link->post(nothing);
    while (link->taken() < asked) std::this_thread::yield();
  }

  CountingHost host;
  std::shared_ptr<OwnerLink> link;
  OwnedMemory api;
  OwnedDevice device;
  PinnedMemory source;
  DeviceMemory target;
  tca::TableId table;
};

/// The driver keeps the owner at a call of rank 1's until release().
struct HeldOwner {
  explicit HeldOwner(Node& at) : node(at) {
    node.machine.holds = true;
    other = std::thread([&at] {
      OwnerLink link(at.region, 1);
      OwnedMemory api(link);
      const DeviceMemory memory = allocate_on(api, 0, 4096);
    });
    while (!node.machine.held) std::this_thread::yield();
  }
  ~HeldOwner() { release(); }
  void release() {
    node.machine.holds = false;
    if (other.joinable()) other.join();
  }
  /// The driver takes longer than the owner has said, or the owner is stopped there.
  void forget() const { reinterpret_cast<CommandQueues*>(node.region.device_owner().queues.load())->busy_until_ns = 0; }

  Node& node;
  std::thread other;
};

}  // namespace

TEST_CASE("device owner: one that gives no sign of life is given up") {
  Node node;
  node.work();
  DeviceOfRank rank(node);
  HeldOwner held(node);
  held.forget();
  OwnedDevice& device = rank.device;
  device.start(0, rank.table, 1);
  std::uint64_t now = rank.host.alarm_ns;
  device.advance(now - 1);
  CHECK_FALSE(rank.link->gone());
  for (int second = 0; second < 10; ++second, now += kSecondNs) {
    device.advance(now);
    CHECK(rank.host.alarm_ns == now + kSecondNs);
    CHECK_FALSE(device.stopped(0));
  }
  device.advance(now);
  CHECK(device.stopped(0));
  CHECK(device.completed(0) == 1);
  CHECK(says(device.failure(0), "does not answer"));
  device.start(0, rank.table, 2);
  CHECK(device.completed(0) == 2);
  CHECK(says(device.failure(0), "does not answer"));
}

TEST_CASE("device owner: one that lives is not given up, however long a table takes") {
  Node node;
  node.work();
  DeviceOfRank rank(node);
  node.machine.set({.stalls = 1});
  rank.device.start(0, rank.table, 1);
  while (!node.cuda.stalled()) std::this_thread::yield();
  for (int second = 0; second < 100; ++second) {
    rank.device.advance(rank.host.alarm_ns);
    rank.await_owner();
    REQUIRE_FALSE(rank.device.stopped(0));
  }
  node.cuda.resume();
  while (!rank.device.stopped(0)) std::this_thread::yield();
  CHECK(rank.device.failure(0) == "");
}

TEST_CASE("device owner: one that the driver keeps busy is given up only when that should be over") {
  Node node;
  node.work();
  DeviceOfRank rank(node);
  CHECK_FALSE(rank.link->busy(real_clock().now_ns()));
  HeldOwner held(node);
  const std::uint64_t begin = real_clock().now_ns();
  CHECK(rank.link->busy(begin + 30 * kSecondNs));
  CHECK_FALSE(rank.link->busy(begin + 100 * kSecondNs));
  rank.device.start(0, rank.table, 1);
  for (std::uint64_t second = 5; second < 50; ++second) rank.device.advance(begin + second * kSecondNs);
  CHECK_FALSE(rank.device.stopped(0));
  SUBCASE("it is over") {
    held.release();
    rank.await_owner();
    while (!rank.device.stopped(0)) std::this_thread::yield();
    CHECK(rank.device.failure(0) == "");
    // It gives back what could not be while the table worked.
    const std::uint64_t soon = real_clock().now_ns() + 20 * kSecondNs;
    while (rank.link->busy(real_clock().now_ns()) && real_clock().now_ns() < soon) std::this_thread::yield();
    CHECK_FALSE(rank.link->busy(real_clock().now_ns()));
  }
  SUBCASE("it is not") {
    for (std::uint64_t second = 50; second < 80; ++second) rank.device.advance(begin + second * kSecondNs);
    CHECK(rank.device.stopped(0));
    CHECK(says(rank.device.failure(0), "does not answer"));
  }
}

TEST_CASE("device owner: who gives it up has the launcher kill it first, and waits for that") {
  Node node;  // which does not work
  DeviceOwnerRecord& record = node.region.device_owner();
  record.wanted = DeviceOwnerRecord::LauncherRequest::start;
  record.call_fd = ::eventfd(0, EFD_NONBLOCK);
  OwnerLink link(node.region, 0);
  std::uint64_t now = real_clock().now_ns();
  for (int second = 0; second < 10; ++second, now += kSecondNs) link.doubt(now);
  CHECK(record.wanted == DeviceOwnerRecord::LauncherRequest::start);
  for (int second = 0; second < 3; ++second, now += kSecondNs) link.doubt(now);
  CHECK(record.wanted == DeviceOwnerRecord::LauncherRequest::kill);
  std::uint64_t calls = 0;
  CHECK(::read(record.call_fd, &calls, sizeof calls) == sizeof calls);
  CHECK(calls == 1);
  CHECK_FALSE(link.gone());
  SUBCASE("it does") {
    copy_text(record.reason, "it was killed");
    record.state = State::ended;
    CHECK(link.gone());
    CHECK(link.why_gone() == "it was killed");
  }
  SUBCASE("it does not") {
    for (int second = 0; second < 10; ++second, now += kSecondNs) link.doubt(now);
    CHECK(link.gone());
    CHECK(says(link.why_gone(), "does not answer"));
  }
  ::close(record.call_fd);
  record.call_fd = -1;
}

TEST_CASE("device owner: a call that is not answered ends") {
  constexpr OwnerPatience kLittle{1'000'000, 1'000'000, 60 * kSecondNs};
  Node node;  // which does not work
  DeviceOwnerRecord& record = node.region.device_owner();
  OwnerLink link(node.region, 0, 0, kLittle);
  DeviceCommand command;
  command.kind = DeviceCommand::Kind::count_devices;
  SUBCASE("without a launcher") {
    CHECK_THROWS_WITH_AS((void)link.call(command),
                         "cuda: the process that owns the GPUs of this node does not answer: is it stopped?", Error);
  }
  SUBCASE("when the launcher has killed the owner") {
    record.call_fd = ::eventfd(0, 0);
    std::thread launcher([&record] {
      std::uint64_t calls = 0;
      CHECK(::read(record.call_fd, &calls, sizeof calls) == sizeof calls);
      CHECK(record.wanted == DeviceOwnerRecord::LauncherRequest::kill);
      copy_text(record.reason, "it was killed");
      record.state = State::ended;
    });
    CHECK_THROWS_WITH_AS((void)link.call(command), "cuda: it was killed", Error);
    launcher.join();
    ::close(record.call_fd);
    record.call_fd = -1;
  }
}

TEST_CASE("device owner: more requests than a ring holds wait at their rank, in order") {
  Node node;
  OwnerLink link(node.region, 1);
  DeviceCommand command;
  command.kind = DeviceCommand::Kind::start;  // of a table that is not there: each ends with that
  std::uint64_t posted = 0;
  for (command.sequence = 1; command.sequence <= 3 * CommandRing::kRoom; ++command.sequence)
    posted = link.post(command);
  CHECK(posted == 3 * CommandRing::kRoom);
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

}  // namespace device_owner_test
