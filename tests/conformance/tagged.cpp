// Tagged messages: traffic of all sizes and kinds of receives, then sizes around each change of protocol.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/core/cpu.hpp"
#include "runtime/messages/messages.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/messages/scattered_traffic.hpp"
#include "tests/messages/traffic.hpp"

namespace coracle::internals::conformance {
namespace {

/// To the right and from the left, with the receive now before and now after the message.
Task<> shift(Rank& self, std::size_t bytes, std::uint64_t round) {
  Team& team = self.world();
  const std::uint32_t right = (team.index() + 1) % team.size();
  const std::uint32_t left = (team.index() + team.size() - 1) % team.size();
  std::vector<std::byte> mine(bytes);
  write_pattern(mine, team.index(), round);
  std::vector<std::byte> theirs(bytes);
  if (round % 2 == 0) {
    const Received received = co_await team.send_recv(std::span(mine), right, round, std::span(theirs), left, round);
    CHECK_HERE(received.bytes == bytes);
  } else {
    Started<> sent = start(self, team.send(mine, right, round));
    const Received there = co_await team.wait_probe(left);
    CHECK_HERE(there.bytes == bytes);
    CHECK_HERE(there.tag == round);
    const Received received = co_await team.recv(theirs, kAnySource, round);
    CHECK_HERE(received.source == left);
    co_await sent.done();
  }
  CHECK_HERE(holds_pattern(theirs, left, round));
}

/// More short messages to the right than there is room for, before any from the left is received.
Task<> send_before_receiving(Rank& self) {
  constexpr std::uint64_t kMessages = 1000;  // 1.1 MiB, with what keeping them takes; each sender has room for 1 MiB
  Team& team = self.world();
  const std::uint32_t right = (team.index() + 1) % team.size();
  const std::uint32_t left = (team.index() + team.size() - 1) % team.size();
  std::vector<std::byte> mine(1000);
  std::vector<std::byte> theirs(mine.size());
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    write_pattern(mine, team.index(), number);
    co_await team.send(mine, right, 1);
  }
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    co_await team.recv(theirs, left, 1);
    CHECK_HERE(holds_pattern(theirs, left, number));
  }
}

}  // namespace

Task<> scattered(Rank& self) {
  const bool few = self.size() > 8 || is_brief();
  std::uint64_t seed = 0;
  for (const RendezvousScheme way : {RendezvousScheme::automatic, RendezvousScheme::shm, RendezvousScheme::cma,
                                     RendezvousScheme::one_sided, RendezvousScheme::cooperative}) {
    if (is_brief() && way != RendezvousScheme::automatic && way != RendezvousScheme::shm) break;
    Messages::of(self).fix_scheme(way);
    for (int repeat = 0; repeat < (few ? 1 : 5); ++repeat) {
      test::ScatteredOptions options;
      options.seed = ++seed;
      options.messages = few ? 1 : 3;
      options.bytes_max = repeat == 0 && !few ? 600'000 : 20'000;
      options.sleeps = repeat % 2 == 0;
      co_await self.world().barrier();
      co_await test::run_scattered(self.world(), options);
    }
    for (const std::size_t bytes : {std::size_t{600}, std::size_t{9000}, std::size_t{300'001}})
      co_await shift(self, bytes, 1000 + seed);
    co_await self.world().barrier();
  }
  Messages::of(self).fix_scheme(RendezvousScheme::automatic);
}

Task<> tagged(Rank& self) {
  std::uint64_t round = 0;
  constexpr std::size_t kSizes[] = {0, 1, 24, 25, 512, 513, 8191, 8192, 8193, 65'536, 300'001};
  for (const std::size_t bytes : kSizes) {
    for (int repeat = 0; repeat < (self.size() > 8 ? 2 : 4); ++repeat) {
      ++round;
      co_await shift(self, bytes, round);
      co_await self.world().barrier();
    }
  }
  // As much from all together as goes past the caches where they share processors.
  const std::size_t past_caches = std::min<std::size_t>(16 << 20, last_level_cache_bytes() / self.size()) + 1001;
  ++round;
  if (self.size() <= 8 && self.placement() != Placement::sim) co_await shift(self, past_caches, round);
  if (self.size() <= 8) co_await send_before_receiving(self);
  const std::uint64_t seeds = self.size() > 8 ? 1 : 10;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    test::TrafficOptions options;
    options.seed = seed;
    options.sleeps = seed % 2 == 0;
    co_await test::run_traffic(self.world(), options);
    co_await self.world().barrier();
  }
}

}  // namespace coracle::internals::conformance
