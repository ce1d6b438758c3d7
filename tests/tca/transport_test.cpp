// The TCA transport in virtual time: random traffic of all kinds, while devices stall, completion words come late and
// credits get lost.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/job.hpp"
#include "transports/sim/sim_dma_device.hpp"

namespace transport_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;

namespace {

SimJob job_of(std::uint32_t ranks, std::uint64_t seed) {
  SimJob job;
  job.size = job.nodes = ranks;
  job.seed = seed;
  job.segment_bytes = 8 << 20;
  job.transport = RemoteTransport::tca;
  return job;
}

tca::TcaTransport& tca_of(Rank& rank) {
  return dynamic_cast<tca::TcaTransport&>(rank.core().transport());
}

/// What traffic() breaks meanwhile.
struct Breaks {
  bool stalls = false;
  bool late_words = false;
  bool lost_credits = false;
};

void break_something(Rank& self, const Breaks& breaks, std::mt19937_64& random) {
  tca::DeviceFaults faults;
  if (breaks.stalls && random() % 16 == 0) faults.stalls = 1;
  if (breaks.late_words && random() % 4 == 0) {
    faults.late_words = 2;
    faults.late_ns = random() % 100'000;
  }
  if (breaks.lost_credits && random() % 4 == 0) faults.lost_stores = 1 + static_cast<unsigned>(random() % 8);
  tca_of(self).device().break_down(faults);
}

constexpr std::size_t kPiece = 200'000;

/// Puts and gets of random lengths and alignments between pieces of memory, registered and not, with poison around.
Task<> traffic(Rank& self, std::uint64_t seed, Breaks breaks) {
  std::mt19937_64 random(seed * 1000 + self.id());
  auto slab = self.allocate<std::byte>(2 * kPiece);
  const auto peers = co_await self.world().gather_all(slab.remote());
  const std::uint32_t right = (self.id() + 1) % self.size();
  std::vector<std::byte> ordinary(kPiece);
  auto signals = self.allocate_signals(1);
  const auto signal_of = co_await self.world().gather_all(signals.remote());
  for (std::uint64_t round = 1; round <= 12; ++round) {
    break_something(self, breaks, random);
    const std::size_t bytes = random() % 3 == 0 ? random() % kPiece : random() % 6000;
    const std::size_t from = (random() % 2 == 0 ? 16 : 1) * (random() % 100);
    const std::size_t to = (random() % 2 == 0 ? 16 : 1) * (random() % 100);
    const std::size_t length = std::min(bytes, kPiece - 2000);
    const bool from_ordinary = random() % 2 == 0;
    // My right neighbour's second half is mine to write.
    std::byte* source = (from_ordinary ? ordinary.data() : slab.data()) + from;
    for (std::size_t i = 0; i < length; ++i) source[i] = static_cast<std::byte>(random());
    const auto place = peers[right] + static_cast<std::ptrdiff_t>(kPiece + to);
    if (random() % 2 == 0) {
      co_await self.put_signal(std::span<const std::byte>(source, length), place, signal_of[right]);
    } else {
      co_await self.put(std::span<const std::byte>(source, length), place);
      co_await self.raise(signal_of[right]);
    }
    std::vector<std::byte> back(length + 32, std::byte{0xee});
    co_await self.get(place, std::span(back).subspan(16, length));
    EXPECT(std::memcmp(back.data() + 16, source, length) == 0);
    for (std::size_t i = 0; i < 16; ++i)
      EXPECT((back[i] == std::byte{0xee} && back[length + 16 + i] == std::byte{0xee}));
    co_await self.wait(signals[0], round);
    co_await self.world().barrier();
  }
}

}  // namespace

TEST_CASE("tca: puts and gets of all lengths and alignments, with signals, for many seeds") {
  const test::Seeds seeds("CORACLE_TCA_SEEDS", 200);
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    const SimulationResult outcome = job_of(static_cast<std::uint32_t>(2 + seed % 4), seed).run([seed](Rank& self) {
      return traffic(self, seed, {});
    });
    REQUIRE(text_of(outcome) == "");
  }
}

namespace {

/// More at a time than there are buffers, each in several pieces.
Task<> crowd(Rank& self) {
  constexpr std::size_t kBytes = 300'000;
  constexpr std::size_t kPuts = 9;
  auto slab = self.allocate<std::byte>(kPuts * kBytes);
  const auto peers = co_await self.world().gather_all(slab.remote());
  std::vector<std::byte> ordinary(kPuts * kBytes);
  for (int round = 1; round <= 4; ++round) {
    std::fill(ordinary.begin(), ordinary.end(), static_cast<std::byte>(round));
    for (std::size_t i = 0; i < kPuts; ++i) {
      const std::span<const std::byte> source(ordinary.data() + i * kBytes, kBytes);
      self.put_nbi(source, peers[1 - self.id()] + static_cast<std::ptrdiff_t>(i * kBytes));
    }
    co_await self.nbi_done();
    co_await self.world().barrier();
    for (std::size_t i = 0; i < kPuts * kBytes; i += 997) EXPECT(slab[i] == static_cast<std::byte>(round));
    co_await self.world().barrier();
  }
  EXPECT(tca_of(self).modes().buffer_to_memory >= 4 * kPuts);
}

/// Rank 0's device fails for good: what it has asked of others ends with an error.
Task<> with_a_dead_device(Rank& self) {
  auto counter = self.allocate<std::uint64_t>(1);
  const auto counters = co_await self.world().gather_all(counter.remote());
  if (self.id() == 0) {
    for (int i = 0; i < 16; ++i) co_await self.fetch_add(counters[1], 1);
    tca_of(self).device().break_down({1000, 0, 0, 0});
    int failed = 0;
    for (int i = 0; i < 3; ++i) {
      try {
        co_await self.fetch_add(counters[1], 100);
      } catch (const Error& error) {
        EXPECT(error.code() == Errc::peer_lost);
        EXPECT(std::string(error.what()).find("has not come to the end of its table") != std::string::npos);
        ++failed;
      }
    }
    EXPECT(failed == 3);
    throw std::runtime_error("all failed as they should");
  }
  co_await sleep_for(std::chrono::seconds(60));
  EXPECT(counter[0] == 16);
  throw std::runtime_error("rank 1 was to be ended by rank 0's error");
}

}  // namespace

TEST_CASE("tca: more puts at a time than there are buffers all come to their end, again and again") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    INFO("seed ", seed);
    REQUIRE(text_of(job_of(2, seed).run(crowd)) == "");
  }
}

TEST_CASE("tca: without its packets' channel a rank has lost its peers, and says why") {
  const SimulationResult outcome = job_of(2, 1).run(with_a_dead_device);
  CHECK(text_of(outcome) == "rank 0: all failed as they should");
}

TEST_CASE("tca: the same while tables hang, completion words come late and credits get lost") {
  std::uint64_t stalls = 0;
  const test::Seeds seeds("CORACLE_TCA_SEEDS", 400);
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    const Breaks breaks{seed % 2 == 0, seed % 3 != 0, seed % 5 != 0};
    const SimJob job = job_of(static_cast<std::uint32_t>(2 + seed % 3), seed);
    const SimulationResult outcome = job.run([seed, breaks, &stalls](Rank& self) -> Task<> {
      co_await traffic(self, seed, breaks);
      stalls += tca_of(self).engine().counts().stalls;
    });
    REQUIRE(text_of(outcome) == "");
  }
  CHECK((stalls > 100 || seeds.size() < 400));
}

}  // namespace transport_test
