// Lost peers over devices: what becomes of operations, packets and buffers, and that everybody else's go on.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/sim/job.hpp"
#include "tests/tca/stepped_job.hpp"
#include "transports/sim/sim_dma_device.hpp"

namespace tca_losses_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::tca;
using namespace std::chrono_literals;

namespace {

void count_numbers(Rank& rank, const Message& message);
struct Log {
  explicit Log(Rank&) {}
  std::vector<std::uint64_t> numbers;
};
void count_numbers(Rank& rank, const Message& message) {
  rank.local<Log>().numbers.push_back(message.argument(0));
}
HandlerId counting() {
  return HandlerId::of(count_numbers);
}

bool is_lost(const Operation& operation) {
  return operation.finished() && operation.outcome() == Errc::peer_lost;
}
bool is_good(const Operation& operation) {
  return operation.finished() && !operation.outcome();
}

constexpr std::size_t kLong = 300'000;

}  // namespace

TEST_CASE("tca: a put whose bytes the device is reading ends with its lost peer, but not before the device is done") {
  SteppedJob job(2);
  Operations operations(job.transport(0));
  Operation& in_place = operations.put({job.memory(0, 0), 2048}, job.place(1, 1));
  Operation& whole = operations.put({job.memory(0, 0), kLong / 16 * 16}, job.place(1, 0));
  const Operation& copied = operations.put({job.memory(0, 1), 8}, job.place(1, 1));
  CHECK(job.transport(0).modes().memory_to_buffer == 1);
  CHECK(job.transport(0).modes().memory_to_memory == 1);
  job.rank(0).core().peer_lost({1, "the test says so"});
  CHECK(!in_place.finished());
  CHECK(!whole.finished());
  CHECK(job.transport(0).in_flight() > 0);
  job.settle();
  CHECK(is_lost(in_place));
  CHECK(is_lost(whole));
  CHECK(is_lost(copied));
  CHECK(job.transport(0).in_flight() == 0);
  CHECK(!job.transport(0).engine().busy());
}

TEST_CASE(
    "tca: all that waits for a lost peer ends; nothing of send buffers, other buffers and other peers' traffic is "
    "lost") {
  SteppedJob job(3);
  Operations operations(job.transport(0));
  const std::vector<std::byte> ordinary(kLong, std::byte{3});
  std::vector<std::byte> back(5000);
  job.set_busy(1, true);  // its ring will be full
  std::vector<Operation*> lost;
  std::vector<Operation*> good;
  for (std::uint64_t number = 0; number < 20; ++number) {
    for (const std::uint32_t peer : {1U, 2U}) {
      operations.request(peer, counting(), std::span(ordinary).first(100), number);
      std::vector<Operation*>& of_peer = peer == 1 ? lost : good;
      of_peer.push_back(&operations.put(ordinary, job.place(peer, 0)));                            // waits for a buffer
      of_peer.push_back(&operations.put(std::span(ordinary).first(3000), job.place(peer, 1)));     // one packet
      of_peer.push_back(&operations.get(job.place(peer, 0), std::span(back)));                     // an answer
      of_peer.push_back(&operations.fetch_add(job.place(peer, 1 << 20), 1));                       // the same
      of_peer.push_back(&operations.put_signal({job.memory(0, 0), 512}, job.place(peer, 2 << 20),  // one table
                                               job.place(peer, 3 << 20)));
    }
  }
  job.settle_for(1'000'000);
  CHECK(job.transport(0).depends_on(1));
  job.rank(0).core().peer_lost({1, "the test says so"});
  job.settle();
  // The first eight packets found room: a put that went ahead of one is done.
  CHECK(std::ranges::all_of(lost, [](const Operation* each) { return each->finished(); }));
  CHECK(std::ranges::count_if(lost, [](const Operation* each) { return is_lost(*each); }) > 90);
  CHECK(std::ranges::all_of(good, [](const Operation* each) { return is_good(*each); }));
  CHECK(job.rank(2).local<Log>().numbers.size() == 20);
  CHECK(job.transport(0).in_flight() == 0);
  CHECK(job.transport(0).leave());
  // As much again as there are stages and buffers.
  Operations more(job.transport(0));
  std::vector<Operation*> later;
  for (std::uint64_t number = 0; number < 2 * PacketArea::kSendBuffers; ++number) {
    more.request(2, counting(), std::span(ordinary).first(100), number);
    later.push_back(&more.put(ordinary, job.place(2, 0)));
  }
  job.settle();
  CHECK(std::ranges::all_of(later, [](const Operation* each) { return is_good(*each); }));
  CHECK(job.rank(2).local<Log>().numbers.size() == 20 + 2 * PacketArea::kSendBuffers);
  // The other finds out, and takes nothing of what has come.
  CHECK(job.rank(1).local<Log>().numbers.empty());
  job.set_busy(1, false);
  job.settle();
  REQUIRE(job.rank(1).lost(0));
  CHECK(job.rank(1).losses()[0].reason == "it has given this rank up for lost");
  CHECK(job.rank(1).local<Log>().numbers.empty());
  CHECK(!job.transport(0).depends_on(2));
}

TEST_CASE("tca: a word of the loss that gets lost is said again to who asks") {
  SteppedJob job(2);
  Operations operations(job.transport(1));
  DeviceFaults faults;
  faults.lost_stores = 1;
  job.transport(0).device().break_down(faults);
  job.rank(0).core().peer_lost({1, "the test says so"});
  Operation& put = operations.put({job.memory(1, 1), 100}, job.place(0, 1));
  Operation& get = operations.get(job.place(0, 0), {job.memory(1, 0), 64});
  job.settle();
  CHECK(job.rank(1).lost(0));
  CHECK(is_lost(put));
  CHECK(is_lost(get));
  CHECK(*job.memory(0, 1) == std::byte{0});
}

namespace {

using coracle::internals::sim::SimJob;
using coracle::internals::sim::SimulationResult;

constexpr std::uint64_t kLimitNs = 1'000'000;

SimJob job_with(const char* faults, std::uint32_t size) {
  SimJob job;
  job.size = job.nodes = size;
  job.segment_bytes = 4 << 20;
  job.silence_limit_ns = kLimitNs;
  job.transport = RemoteTransport::tca;
  job.faults = sim::parse_faults(faults, "test", job.shape());
  return job;
}

TcaTransport& tca_of(Rank& rank) {
  return dynamic_cast<TcaTransport&>(rank.core().transport());
}

struct Seen {
  std::string error;
  std::uint64_t ended_ns = 0;
};

template <class A>
Task<> note(Rank& self, A operation, Seen& seen) {
  try {
    co_await operation;
  } catch (const Error& error) {
    seen.error = error.what();
  }
  seen.ended_ns = self.loop().exact_now_ns();
}

Remote<std::byte> place_on(std::uint32_t rank, std::uint64_t offset) {
  return Remote<std::byte>(RemoteAddress{offset, rank, 0});
}

constexpr std::uint64_t kStartNs = 100'000;

/// Rank 0 starts a put of so many bytes of its segment to the last rank at 100 us.
Seen put_through(const SimJob& job, std::size_t bytes) {
  Seen seen;
  const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
    auto slab = self.allocate<std::byte>(kLong + 16);
    if (self.id() != 0) co_return;
    co_await sleep_for(100us);
    const std::span<const std::byte> source(slab.data(), bytes);
    co_await note(self, self.put(source, place_on(self.size() - 1, 1 << 20)), seen);
  });
  CHECK(text_of(outcome) == "");
  return seen;
}

/// One that goes by a packet, and one from memory to memory.
constexpr std::size_t kSizes[] = {9, 65536};

}  // namespace

TEST_CASE("tca: a link that is late or cut for less than the silence limit costs time only") {
  for (const std::size_t bytes : kSizes) {
    CAPTURE(bytes);
    const Seen plain = put_through(job_with("", 2), bytes);
    CHECK(plain.error == "");
    for (const char* fault : {"50 us cut rank 0 rank 1 for 900 us", "101 us cut node 0 node 1 for 849 us"}) {
      CAPTURE(fault);
      const Seen seen = put_through(job_with(fault, 2), bytes);
      CHECK(seen.error == "");
      CHECK(seen.ended_ns >= 950'000);
      CHECK(seen.ended_ns < 1'000'000 + (plain.ended_ns - kStartNs));
    }
    const Seen late = put_through(job_with("50 us delay node 0 node 1 by 30 us for 900 us", 2), bytes);
    CHECK(late.error == "");
    CHECK(late.ended_ns >= plain.ended_ns + 30'000);
    CHECK(late.ended_ns <= plain.ended_ns + 100'000);
  }
  // The stalls of a held channel are none of its device's.
  SimJob patient = job_with("50 us cut rank 0 rank 1 for 20 s", 2);
  patient.silence_limit_ns = 60'000'000'000;
  for (const std::size_t bytes : kSizes) {
    const Seen seen = put_through(patient, bytes);
    CHECK(seen.error == "");
    CHECK(seen.ended_ns >= 20'000'000'000);
  }
}

TEST_CASE("tca: a peer that stays silent is lost after the limit, a dead process at once") {
  for (const char* fault : {"50 us cut rank 0 rank 1", "50 us cut node 0 node 1 for 2 ms"}) {
    for (const std::size_t bytes : kSizes) {
      CAPTURE(fault);
      CAPTURE(bytes);
      const Seen seen = put_through(job_with(fault, 2), bytes);
      CHECK(seen.error == "put on rank 0 with rank 1 failed: peer lost (silent for 1 ms)");
      CHECK(seen.ended_ns >= kStartNs + kLimitNs);
      CHECK(seen.ended_ns < kStartNs + kLimitNs + 50'000);
    }
  }
  // A stopped or dead process takes no packets; memory to memory is none of its business.
  for (const char* fault : {"50 us stop rank 1", "50 us stop rank 1 for 5 ms", "50 us kill node 1"}) {
    CAPTURE(fault);
    const Seen seen = put_through(job_with(fault, 2), kSizes[0]);
    CHECK(seen.error == "put on rank 0 with rank 1 failed: peer lost (silent for 1 ms)");
    CHECK(seen.ended_ns < kStartNs + kLimitNs + 50'000);
    CHECK(put_through(job_with(fault, 2), kSizes[1]).error == "");
  }
  const Seen killed = put_through(job_with("50 us kill rank 1", 2), kSizes[0]);
  CHECK(killed.error == "put on rank 0 with rank 1 failed: peer lost (it was killed by the fault plan)");
  CHECK(killed.ended_ns < kStartNs + 50'000);
  const Seen reset = put_through(job_with("102 us reset rank 0 rank 1", 2), kSizes[0]);
  CHECK(reset.error == "put on rank 0 with rank 1 failed: peer lost (their connection was reset)");
}

TEST_CASE("tca: what a lost peer still has under way to here changes nothing any more") {
  bool told = false;
  const SimJob job = job_with("105 us cut rank 0 rank 1 for 3 ms", 2);
  const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
    auto slab = self.allocate<std::byte>(kLong / 16 * 16);
    std::fill_n(slab.data(), slab.size(), std::byte{static_cast<unsigned char>(1 + self.id())});
    co_await sleep_for(100us);
    if (self.id() == 0) {
      Seen seen;
      co_await note(self, self.get(place_on(1, slab.remote().address().offset), std::span(slab.data(), slab.size())),
                    seen);
      EXPECT(seen.error == "get on rank 0 with rank 1 failed: peer lost (silent for 1 ms)");
      std::fill_n(slab.data(), slab.size(), std::byte{9});  // ours again
      co_await sleep_for(10ms);
      EXPECT(std::count(slab.data(), slab.data() + slab.size(), std::byte{9}) ==
             static_cast<std::ptrdiff_t>(slab.size()));
      co_return;
    }
    co_await self.more_lost(0);
    told = true;
  });
  CHECK(text_of(outcome) == "");
  CHECK(told);
}

TEST_CASE("tca: a cut peer holds up the packets to others until it is lost, and no longer") {
  std::uint64_t last_ns = 0;
  std::vector<std::uint64_t> numbers;
  const SimJob job = job_with("50 us cut rank 0 rank 1", 3);
  const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
    co_await sleep_for(100us);
    if (self.id() == 0) {
      Seen seen;
      const std::vector<std::byte> payload(100);
      for (std::uint64_t number = 0; number < 30; ++number) {
        for (const std::uint32_t peer : {1U, 2U})
          co_await note(self, self.request(peer, count_numbers, payload, number), seen);
      }
      co_return;
    }
    if (self.id() == 1) co_return;
    while (self.local<Log>().numbers.size() < 30) co_await sleep_for(10us);
    last_ns = self.loop().exact_now_ns();
    numbers = self.local<Log>().numbers;
  });
  CHECK(text_of(outcome) == "");
  CHECK(last_ns >= kStartNs + kLimitNs);
  CHECK(last_ns < kStartNs + kLimitNs + 200'000);
  for (std::uint64_t number = 0; number < numbers.size(); ++number) CHECK(numbers[number] == number);
}

TEST_CASE("tca: a rank whose device has failed for good tells its peers that they have lost it") {
  std::string reason;
  const SimulationResult outcome = job_with("", 2).run([&](Rank& self) -> Task<> {
    if (self.id() == 0) {
      co_await sleep_for(100us);
      tca_of(self).device().break_down({1000, 0, 0, 0});
      Seen seen;
      co_await note(self, self.put_value(std::uint64_t{7}, place_on(1, 0).as<std::uint64_t>()), seen);
      EXPECT(seen.error.find("has not come to the end of its table") != std::string::npos);
      co_return;
    }
    co_await self.more_lost(0);
    reason = self.losses()[0].reason;
  });
  CHECK(text_of(outcome) == "");
  CHECK(reason == "it has given this rank up for lost");
}

namespace {

struct Waited final : DmaTransfer {
  void ended(bool) noexcept override {}
};

}  // namespace

TEST_CASE("tca: a job may end while a device has a table that hangs, and words for ranks that are gone") {
  Waited hangs;  // outlives the devices
  const SimulationResult outcome = job_with("50 us cut rank 0 rank 1", 2).run([&](Rank& self) -> Task<> {
    auto slab = self.allocate<std::byte>(4096);
    co_await sleep_for(100us);
    Seen seen;
    co_await note(self, self.put_value(std::uint64_t{7}, place_on(1 - self.id(), 0).as<std::uint64_t>()), seen);
    EXPECT(self.lost(1 - self.id()));  // which is told so by a word, that waits in front of the cut
    if (self.id() == 0) co_return;
    tca_of(self).device().break_down({1, 0, 0, 0});
    const Descriptor descriptor{slab.data(), slab.data() + 2048, 2048};
    tca_of(self).engine().run({&descriptor, 1}, 1, hangs);
  });
  CHECK(text_of(outcome) == "");
}

TEST_CASE("tca: survivors in a deadlock are told of the dead and of who waits where") {
  const SimulationResult outcome = job_with("50 us kill rank 1", 3).run([&](Rank& self) -> Task<> {
    auto signals = self.allocate_signals(1);
    co_await self.wait(signals[0], 1);
  });
  const std::string text = text_of(outcome);
  CAPTURE(text);
  CHECK(text.find("2 of 3 ranks still wait") != std::string::npos);
  CHECK(text.find("2 x signal at losses_test.cpp:") != std::string::npos);
  CHECK(text.find("rank 1 died or stopped for ever before") != std::string::npos);
}

TEST_CASE("tca: with `survive` a rank whose program fails is lost to the others, who go on") {
  SimJob job = job_with("", 3);
  job.survive = true;
  std::vector<std::string> reasons;
  const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
    co_await sleep_for(50us);
    if (self.id() == 2) throw std::runtime_error("I have had enough");
    co_await self.more_lost(0);
    reasons.push_back(self.losses()[0].reason);
    Seen seen;
    co_await note(self, self.put_value(std::uint64_t{7}, place_on(1 - self.id(), 0).as<std::uint64_t>()), seen);
    EXPECT(seen.error == "");
  });
  CHECK(text_of(outcome) == "rank 2: I have had enough");
  CHECK(reasons == std::vector<std::string>(2, "its program failed"));
}

}  // namespace tca_losses_test
