// A CUDA device on an event loop, on the stand-in: coroutines await copies, which end with their bytes or with a
// reason, also when the loop sleeps meanwhile.
#include "transports/cuda/copy_engine.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "tests/cuda/cases.hpp"
#include "tests/cuda/fake_cuda.hpp"

namespace copy_engine_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using cuda::CopyEngine;
using cuda::CopyOptions;
using cuda::TableWay;
using tca::Descriptor;

namespace {

constexpr std::size_t kBytes = 256 << 10;
constexpr std::byte kPoison{0xa5};

void check_clean(FakeCuda& api) {
  for (const std::string& misuse : api.misuses()) FAIL_CHECK(misuse);
  CHECK(api.counts().none());
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// A loop with a device, and areas on either side whose bytes are known.
struct Workplace {
  explicit Workplace(FakeCuda& api, const CopyOptions& options = {})
      : source(api, -1, kBytes), target(api, 0, kBytes), engine(loop, api, options) {
    source.write(random_bytes(kBytes, 1));
    target.write(std::vector<std::byte>(kBytes, kPoison));
  }
  Descriptor piece(std::size_t at, std::size_t bytes) const { return {source.data() + at, target.data() + at, bytes}; }

  Area source;
  Area target;
  EventLoop loop;
  CopyEngine engine;
};

/// A loop that sleeps as soon as it has nothing to do.
void never_spin(EventLoop& loop) {
  loop.set_idle_policy({0, 0});
}

Task<> copy_once(CopyEngine& engine, Descriptor what) {
  co_await engine.copy(what);
}

/// How a copy has ended, in words.
Task<> copy_and_tell(CopyEngine& engine, Descriptor what, std::string& ended) {
  try {
    co_await engine.copy(what);
    ended = "well";
  } catch (const Error& error) {
    ended = error.code().message() + ": " + error.what();
  }
}

Task<> tell_of_each(Scope& scope, CopyEngine& engine, std::vector<Descriptor> pieces, std::vector<std::string>& ends) {
  ends.assign(pieces.size(), "");
  for (std::size_t i = 0; i < pieces.size(); ++i) scope.spawn(copy_and_tell(engine, pieces[i], ends[i]));
  co_return;
}

/// Random pieces that cover the areas, many of them at a time, each copied three times.
Task<> copy_all(Scope& scope, Workplace& at, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t begin = 0; begin < kBytes;) {
    const std::size_t bytes = std::min<std::size_t>(1 + random() % 40'000, kBytes - begin);
    for (int again = 0; again < 3; ++again) scope.spawn(copy_once(at.engine, at.piece(begin, bytes)));
    begin += bytes;
    if (random() % 4 == 0) co_await yield();
  }
}

Task<> cover(Workplace& at, std::uint64_t seed) {
  co_await with_scope(copy_all, std::ref(at), seed);
}

std::string end_of(Workplace& at, const Descriptor& what) {
  std::string end;
  at.loop.run(copy_and_tell(at.engine, what, end));
  return end;
}

}  // namespace

TEST_CASE("copy engine: many coroutines await copies and all bytes land, for many seeds") {
  FakeMachine machine;
  FakeCuda api(machine);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    CopyOptions options;
    options.device.channels = 1 + static_cast<unsigned>(seed % 8);
    options.spread_max = 1 + static_cast<unsigned>(seed % 3);
    if (seed % 2 == 0) options.device.ring_from_ns = 0;
    Workplace at(api, options);
    if (seed % 4 < 2) never_spin(at.loop);
    at.loop.run(cover(at, seed));
    CHECK(at.target.read() == random_bytes(kBytes, 1));
    CHECK_FALSE(at.engine.busy());
  }
  check_clean(api);
}

namespace {

Task<> run_chain(CopyEngine& engine, const std::vector<Descriptor>& chain, unsigned channel) {
  co_await engine.chain(chain, channel);
}

Task<> start_often(CopyEngine& engine, tca::TableId table, int times) {
  for (int i = 0; i < times; ++i) co_await engine.start(table, 1);
}

}  // namespace

TEST_CASE("copy engine: a chain keeps its order, and a table is started again and again") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    Workplace at(api);
    // Each over half of the one before.
    std::vector<Descriptor> chain;
    for (std::size_t i = 0; i < 9; ++i)
      chain.push_back({at.source.data() + i * 1000, at.target.data() + i * 500, 1000});
    std::vector<std::byte> expected(kBytes, kPoison);
    const std::vector<std::byte> from = random_bytes(kBytes, 1);
    for (std::size_t i = 0; i < 9; ++i) std::copy_n(from.data() + i * 1000, 1000, expected.data() + i * 500);
    at.loop.run(run_chain(at.engine, chain, 2));
    CHECK(at.target.read() == expected);
    for (const TableWay way : {TableWay::one_by_one, TableWay::graph}) {
      at.target.write(std::vector<std::byte>(kBytes, kPoison));
      const tca::TableId table = at.engine.device().load(chain, way);
      const std::uint64_t before = at.engine.device().statistics().starts;
      at.loop.run(start_often(at.engine, table, 5));
      CHECK(at.engine.device().statistics().starts == before + 5);
      CHECK(at.engine.device().way_of(table) == way);
      at.engine.device().unload(table);
      CHECK(at.target.read() == expected);
    }
  }
  check_clean(api);
}

TEST_CASE("copy engine: a refused copy says why, and the next one works") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    Workplace at(api);
    std::vector<std::byte> plain(64);
    CHECK(says(end_of(at, {plain.data(), at.target.data(), 64}), "neither a GPU's nor pinned"));
    CHECK(says(end_of(at, at.piece(0, 0)), "copies nothing"));
    CHECK(end_of(at, at.piece(0, kBytes)) == "well");
    CHECK(at.target.read() == random_bytes(kBytes, 1));
  }
  check_clean(api);
}

TEST_CASE("copy engine: an error of the device fails the copy with the device's name for it, and all after it") {
  FakeMachine machine;
  FakeCuda api(machine);
  Workplace at(api);
  never_spin(at.loop);
  machine.set({.failing_copies = 1});
  for (int i = 0; i < 2; ++i) {
    const std::string end = end_of(at, at.piece(64, 1000));
    CHECK(says(end, std::make_error_code(std::errc::io_error).message().c_str()));
    CHECK(says(end, "a copy of 1 blocks of 1000 bytes"));
    CHECK(says(end, "device 0 (stand-in 0), channel 0: cudaErrorIllegalAddress"));
    CHECK(says(end, "end the job"));
  }
}

TEST_CASE("copy engine: a copy that was disturbed once is tried again") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    Workplace at(api);
    machine.set({.refused_call = "copy", .refusals = 1});
    CHECK(end_of(at, at.piece(0, 5000)) == "well");
    CHECK(at.engine.device().statistics().failures == 1);
    CHECK(at.engine.engine().counts().doorbells == 2);
  }
  check_clean(api);
}

TEST_CASE("copy engine: a loop that sleeps learns by its alarm of a word that never came") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    Workplace at(api);
    never_spin(at.loop);
    // On a busy machine the alarm may be due before the loop comes to sleep: then once more.
    for (std::uint64_t lost = 1; lost <= 20 && at.loop.sleep_count() == 0; ++lost) {
      machine.set({.lost_words = 1});
      CHECK(end_of(at, at.piece(0, 5000)) == "well");
      CHECK(at.engine.device().statistics().missed_words == lost);
    }
    CHECK(at.loop.sleep_count() > 0);
  }
  check_clean(api);
}

namespace {

/// What somebody else does, seen by a loop that looks for it.
struct Outside final : Poller {
  bool poll() noexcept override {
    if (!done.load(std::memory_order_acquire) || event.is_set()) return false;  // pairs with the thread's store
    event.set();
    return true;
  }
  void about_to_sleep() noexcept override { host->about_to_sleep(); }

  cuda::LoopHost* host = nullptr;
  std::atomic<bool> done{false};
  Event event;
};

Task<> wait_for(Event& event) {
  co_await event;
}

}  // namespace

TEST_CASE("loop host: a ring wakes a loop that sleeps without any alarm") {
  EventLoop loop;
  never_spin(loop);
  cuda::LoopHost host(loop);
  for (int round = 0; round < 200; ++round) {
    Outside outside;
    outside.host = &host;
    loop.add_poller(outside);
    std::thread ringer([&] {
      if (round % 2 == 0)  // it sleeps, or is about to
        while (loop.doorbell().state.load() == Doorbell::kAwake) std::this_thread::yield();
      outside.done.store(true, std::memory_order_release);
      host.ring();
    });
    loop.run(wait_for(outside.event));
    ringer.join();
    loop.remove_poller(outside);
  }
  CHECK(loop.sleep_count() > 0);
}

namespace {

Task<> cancelled_while_copying(Scope& scope, Workplace& at, FakeCuda& api, std::string& ended) {
  scope.spawn(copy_and_tell(at.engine, at.piece(0, 3000), ended));
  while (!api.stalled()) co_await turn();
  scope.cancel();
  for (int i = 0; i < 100; ++i) co_await turn();
  CHECK(at.engine.busy());
  CHECK(ended.empty());
  api.resume();
}

Task<> in_a_scope(Workplace& at, FakeCuda& api, std::string& ended) {
  co_await with_scope(cancelled_while_copying, std::ref(at), std::ref(api), std::ref(ended));
}

}  // namespace

TEST_CASE("copy engine: a copy whose coroutine is cancelled goes on to its end") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    Workplace at(api);
    machine.set({.stalls = 1});
    std::string ended;
    at.loop.run(in_a_scope(at, api, ended));
    CHECK(ended == "well");
    std::vector<std::byte> expected = random_bytes(kBytes, 1);
    std::fill(expected.begin() + 3000, expected.end(), kPoison);
    CHECK(at.target.read() == expected);
  }
  check_clean(api);
}

namespace {

Task<> many(Workplace& at, std::vector<Descriptor> pieces, std::vector<std::string>& ends) {
  co_await with_scope(tell_of_each, std::ref(at.engine), std::move(pieces), std::ref(ends));
}

}  // namespace

TEST_CASE("copy engine: a stuck channel fails its copies, those in its queue too, and others work") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    CopyOptions options;
    options.device.stuck_after_ns = 20'000'000;
    Workplace at(api, options);
    never_spin(at.loop);
    machine.set({.stalls = 1});
    std::vector<std::string> ends;
    at.loop.run(many(at, {at.piece(0, 1000), at.piece(1000, 1000)}, ends));  // both on the first channel
    for (const std::string& end : ends) CHECK(says(end, "hangs; look for NVRM and Xid in dmesg"));
    const std::vector<Descriptor> chain{at.piece(2000, 1000)};
    at.loop.run(run_chain(at.engine, chain, 1));
    api.resume();
    while (end_of(at, at.piece(0, 2000)) != "well") {
    }
    std::vector<std::byte> expected = random_bytes(kBytes, 1);
    std::fill(expected.begin() + 3000, expected.end(), kPoison);
    CHECK(at.target.read() == expected);
  }
  check_clean(api);
}

TEST_CASE("copy engine: a channel whose function is never called fails what waits for it") {
  FakeMachine machine;
  FakeCuda api(machine);
  {
    CopyOptions options;
    options.device.stuck_after_ns = 20'000'000;
    options.device.ring_from_ns = 0;
    Workplace at(api, options);
    never_spin(at.loop);
    machine.set({.stalled_functions = 1});
    std::vector<std::string> ends;
    at.loop.run(many(at, {at.piece(0, 1000), at.piece(1000, 1000)}, ends));
    CHECK(ends[0] == "well");
    CHECK(says(ends[1], "hangs"));
    api.resume();
    while (end_of(at, at.piece(1000, 1000)) != "well") {
    }
  }
  check_clean(api);
}

}  // namespace copy_engine_test
