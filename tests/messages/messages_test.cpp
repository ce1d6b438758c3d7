// Tagged messages in simulated jobs: order and matching for thousands of seeds, and what happens at the edges: no room,
// cancellation, buffers that are too short, ranks that die.
#include <doctest/doctest.h>

#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/messages/messages.hpp"
#include "tests/messages/error_of.hpp"
#include "tests/messages/scattered_traffic.hpp"
#include "tests/messages/traffic.hpp"
#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/job.hpp"

namespace messages_test {

using namespace coracle;
using namespace coracle::internals;
using coracle::internals::test::error_of;
using namespace coracle::internals::sim;
using namespace std::chrono_literals;

namespace {

/// All members of the world, and at the same time those of one half, whose tags and places are the same.
Task<> traffic_of(Rank& self, std::uint64_t seed) {
  Team& world = self.world();
  coracle::internals::test::TrafficOptions options;
  options.seed = seed;
  if (seed % 4 != 0) {
    co_await run_traffic(world, options);
    co_return;
  }
  options.messages = 4;
  const std::unique_ptr<Team> half = co_await world.split(self.id() % 2, seed % 3 == 0 ? self.size() - self.id() : 0);
  std::vector<Task<>> parts;
  parts.push_back(run_traffic(world, options));
  options.seed = seed + 1;
  parts.push_back(run_traffic(*half, options));
  co_await when_all(std::move(parts));
  co_await world.barrier();
}

SimJob job_of(std::uint64_t seed) {
  SimJob job;
  job.size = 1 + static_cast<std::uint32_t>(seed % 6);
  job.nodes = 1 + static_cast<std::uint32_t>(seed / 6 % std::min<std::uint64_t>(job.size, 3));
  job.seed = seed;
  if (seed % 5 == 0) job.messages.unexpected_bytes = seed % 2 == 0 ? 1 : 20'000;  // the least: room for a few
  return job;
}

/// Of one seed and program; "" or what went wrong.
std::string run(const App& program, std::uint32_t size = 2, std::uint32_t nodes = 2, std::uint64_t seed = 1) {
  SimJob job;
  job.size = size;
  job.nodes = nodes;
  job.seed = seed;
  return text_of(job.run(program));
}

std::vector<std::byte> filled(std::size_t bytes, int with) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(with));
}

}  // namespace

TEST_CASE("messages: order and matching hold for thousands of seeds") {
  const test::Seeds seeds("CORACLE_TEST_SEED", test::kSanitized ? 500 : 2000);
  for (const std::uint64_t seed : seeds) {
    const SimulationResult outcome = job_of(seed).run([seed](Rank& self) { return traffic_of(self, seed); });
    if (outcome.error) FAIL(text_of(outcome), "\n", seeds.repeat(seed));
  }
}

TEST_CASE("messages: random layouts arrive in other random layouts, byte by byte") {
  const test::Seeds seeds("CORACLE_TEST_SEED", test::kSanitized ? 60 : 400);
  for (const std::uint64_t seed : seeds) {
    SimJob job = job_of(seed);
    job.size = 1 + job.size / 2;
    job.nodes = std::min(job.nodes, job.size);
    coracle::internals::test::ScatteredOptions options;
    options.seed = seed;
    options.messages = 2;
    const SimulationResult outcome = job.run([options](Rank& self) { return run_scattered(self.world(), options); });
    if (outcome.error) FAIL(text_of(outcome), "\n", seeds.repeat(seed));
  }
}

TEST_CASE("messages: a sender that is ahead waits when its room at the receiver is used up") {
  SimJob job;
  job.nodes = 2;
  job.messages.unexpected_bytes = (1 << 20) / 16;
  const auto program = [](Rank& self) -> Task<> {
    constexpr int kMessages = 1200;
    const std::vector<std::byte> data = filled(4000, 7);
    if (self.id() == 0) {
      bool over = false;
      const auto flood = [](Team& team, const std::vector<std::byte>& what, bool& done) -> Task<> {
        for (int i = 0; i < kMessages; ++i) co_await team.send(what, 1, static_cast<std::uint64_t>(i));
        done = true;
      };
      Started<> sends = start(self, flood(self.world(), data, over));
      co_await sleep_for(50ms);
      EXPECT(!over);
      co_await self.world().send_value(0, 1, 1 << 20);
      co_await sends.done();
      co_return;
    }
    co_await self.world().recv_value<int>(0, 1 << 20);
    // Not all of them, though there has been time for that: its share, and the room that is for who has none left.
    EXPECT(Messages::of(self).unexpected() * data.size() < (1 << 20) + (1 << 12) + 2 * data.size());
    EXPECT(Messages::of(self).unexpected() > 200);
    std::vector<std::byte> buffer(4000);
    for (int i = kMessages; i-- > 0;) {
      // From the last to the first it would wait for what the sender has not sent yet.
      const int tag = kMessages - 1 - i;
      const Received received = co_await self.world().recv(buffer, 0, static_cast<std::uint64_t>(tag));
      EXPECT(received.bytes == data.size());
      EXPECT(buffer == data);
    }
  };
  CHECK(text_of(job.run(program)) == "");
}

namespace {

/// Short ones to the other of two ranks, more than there is room for, before any is received; in three kinds of memory.
Task<> send_before_receiving(Rank& self) {
  constexpr int kMessages = 6000;
  Team& team = self.world();
  const std::uint32_t other = 1 - self.id();
  const Layout layout = Layout::bytes(4).vector(10, 3, 5);
  std::vector<std::byte> data(1000);
  for (int i = 0; i < kMessages; ++i) {
    std::ranges::fill(data, static_cast<std::byte>(i));
    if (i % 3 == 0)
      co_await team.send(data, other, 1);
    else if (i % 3 == 1)
      co_await team.send(MessageSource(data.data(), layout, 1), other, 1);
    else
      co_await team.send(std::span<const std::byte>(), other, 1);
  }
  std::ranges::fill(data, std::byte{0xff});  // its own again
  for (int i = 0; i < kMessages; ++i) {
    std::vector<std::byte> buffer(1000);
    const Received received = co_await team.recv(buffer, other, 1);
    const std::array<std::size_t, 3> sizes{1000, layout.size(), 0};
    EXPECT(received.bytes == sizes[static_cast<std::size_t>(i % 3)]);
    buffer.resize(received.bytes);
    EXPECT(buffer == filled(received.bytes, i));
  }
  EXPECT(Messages::of(self).unexpected() == 0);
}

}  // namespace

TEST_CASE("messages: ranks that send each other more than their room before either receives go on") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SimJob job;
    job.nodes = 1 + static_cast<std::uint32_t>(seed % 2);
    job.seed = seed;
    if (seed > 2) job.messages.unexpected_bytes = 300'000;  // 4.7 KB for each sender, 4.8 MB for both when they wait
    INFO("seed ", seed);
    CHECK(text_of(job.run(send_before_receiving)) == "");
  }
}

TEST_CASE("messages: one that a matched probe has taken need not be received for its sender to go on") {
  for (const bool is_dropped : {false, true}) {
    SimJob job;
    job.messages.unexpected_bytes = 4000;  // room for one
    const auto program = [is_dropped](Rank& self) -> Task<> {
      Team& team = self.world();
      std::vector<std::byte> data(3000);
      if (self.id() == 0) {
        co_await team.send(data, 1, 0);
        std::ranges::fill(data, std::byte{1});
        co_await team.send(data, 1, 1);
        co_await team.barrier();
        co_return;
      }
      std::optional<MatchedMessage> matched = team.matched_probe(0, 1);
      while (!matched) {
        co_await sleep_for(10us);
        if (std::optional<MatchedMessage> next = team.matched_probe(0, 1)) matched.emplace(std::move(*next));
      }
      co_await team.barrier();
      if (is_dropped) {
        matched.reset();
      } else {
        co_await matched->recv(std::span(data));
        EXPECT(data == filled(3000, 1));
      }
      co_await team.recv(data, 0, 0);
      EXPECT(Messages::of(self).unexpected() == 0);
    };
    CHECK(text_of(job.run(program)) == "");
  }
}

TEST_CASE("messages: a receiver that is only slow soon keeps no more than its senders' room") {
  const auto program = [](Rank& self) -> Task<> {
    constexpr int kMessages = 100;
    Team& team = self.world();
    std::vector<std::byte> data(4000);
    if (self.id() == 0) {
      bool over = false;
      const auto flood = [](Team& to, const std::vector<std::byte>& what, const bool& is_over) -> Task<> {
        while (!is_over) co_await to.send(what, 1, 1);
      };
      Started<> sends = start(self, flood(team, data, over));
      co_await team.recv_value<int>(1);
      over = true;
      co_await sends.done();
      co_await team.send_value(0, 1, 2);
      co_return;
    }
    std::size_t kept = 0;  // when it is known to be slow
    for (int i = 0; i < kMessages; ++i) {
      co_await sleep_for(10ms);
      co_await team.recv(data, 0, 1);
      if (i == kMessages / 4) kept = Messages::of(self).unexpected();
    }
    EXPECT(kept > 256);  // 1 MiB
    EXPECT(Messages::of(self).unexpected() < kept);
    co_await team.send_value(0, 0);
    bool is_last = false;
    while (!is_last) {
      const Received received = co_await team.recv(data, 0);
      is_last = received.tag == 2;
    }
  };
  SimJob job;
  job.nodes = 2;
  CHECK(text_of(job.run(program)) == "");
}

TEST_CASE("messages: a short one that waits for room is received, kept or taken back, whichever comes first") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SimJob job;
    job.nodes = 1 + static_cast<std::uint32_t>(seed % 2);
    job.seed = seed;
    job.messages.unexpected_bytes = 4000;  // 4096 for each sender
    const auto program = [seed](Rank& self) -> Task<> {
      Team& team = self.world();
      constexpr std::size_t kBytes = 3000;
      const auto instant = [seed](std::uint64_t of) { return std::chrono::nanoseconds(990'000 + seed * of % 40'000); };
      if (self.id() == 0) {
        std::vector<std::byte> data = filled(kBytes, 1);
        co_await team.send(data, 1, 0);  // there is no room for another
        const std::string error = co_await error_of(with_timeout(instant(7919), team.send(data, 1, 1)));
        std::ranges::fill(data, std::byte{2});
        co_await team.send_value(error == "" ? 1 : 0, 1, 2);
        co_return;
      }
      if (seed % 3 != 0) co_await sleep_for(instant(104'729));
      std::vector<std::byte> buffer(seed % 3 == 1 ? kBytes - 1 : kBytes);  // or too short
      const std::string error = co_await error_of(with_timeout(10ms, team.recv(buffer, 0, 1)));
      const bool is_there = error == "" || error.find("timed out") == std::string::npos;
      EXPECT(co_await team.recv_value<int>(0, 2) == (is_there ? 1 : 0));
      if (error == "") EXPECT(buffer == filled(kBytes, 1));
      buffer.resize(kBytes);
      co_await team.recv(buffer, 0, 0);
      EXPECT(!team.probe());
    };
    INFO("seed ", seed);
    CHECK(text_of(job.run(program)) == "");
  }
}

TEST_CASE("messages: a receiver that keeps up gives its senders their room back") {
  CHECK(run([](Rank& self) -> Task<> {
          constexpr int kMessages = 1200;
          Team& team = self.world();
          std::vector<std::byte> data(4000);
          for (int i = 0; i < kMessages; ++i) {
            if (self.id() == 0)
              co_await team.send(data, 1);
            else
              co_await team.recv(data, 0);
            if (i % 20 == 0) co_await team.barrier();
          }
          if (self.id() == 0) {
            co_await with_timeout(1ms, team.send(data, 1));  // nobody receives it yet
            co_await team.send_value(1, 1, 1);
            co_return;
          }
          co_await team.recv_value<int>(0, 1);
          co_await sleep_for(5ms);
          co_await team.recv(data, 0);
        }) == "");
}

TEST_CASE("messages: a receive that is cancelled leaves the message to the next") {
  CHECK(run([](Rank& self) -> Task<> {
          Team& team = self.world();
          if (self.id() == 0) {
            co_await sleep_for(5ms);
            co_await team.send_value(1, 1, 3);
            const auto data = filled(100'000, 2);
            co_await team.send(data, 1, 3);
            co_return;
          }
          std::vector<std::byte> buffer(100'000);
          const std::string error = co_await error_of(with_timeout(1ms, team.recv(buffer, 0, 3)));
          EXPECT(error != "");
          EXPECT(co_await team.recv_value<int>(kAnySource, 3) == 1);
          co_await team.recv(buffer);
          EXPECT(buffer == filled(100'000, 2));
        }) == "");
}

TEST_CASE("messages: a long send that is cancelled is taken back, unless it is being received") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed ", seed);
    CHECK(run(
              [seed](Rank& self) -> Task<> {
                Team& team = self.world();
                if (self.id() == 0) {
                  const std::vector<std::byte> data = filled(50'000, 1);
                  const std::string error = co_await error_of(with_timeout(1ms, team.send(data, 1, 1)));
                  co_await team.send_value(error == "" ? 1 : 0, 1, 2);
                  co_return;
                }
                // About when it is taken back, or much later.
                co_await sleep_for(seed % 10 == 0 ? 5ms : std::chrono::nanoseconds(950'000 + seed * 500));
                std::vector<std::byte> buffer(50'000);
                const std::string error = co_await error_of(with_timeout(10ms, team.recv(buffer, 0, 1)));
                const int sent = co_await team.recv_value<int>(0, 2);
                EXPECT(sent == (error == "" ? 1 : 0));
                if (sent == 1) EXPECT(buffer == filled(50'000, 1));
                if (seed % 10 == 0) EXPECT(sent == 0);
                EXPECT(!team.probe());
              },
              2, 1 + static_cast<std::uint32_t>(seed % 2), seed) == "");
  }
}

TEST_CASE("messages: one that is longer than its buffer is an error there, and over for its sender") {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{5000}, std::size_t{100'000}}) {
    for (const bool late : {false, true}) {
      CHECK(run([bytes, late](Rank& self) -> Task<> {
              Team& team = self.world();
              if (self.id() == 0) {
                const auto data = filled(bytes, 1);
                co_await team.send(data, 1, 9);
                co_await team.send_value(5, 1, 9);
                co_return;
              }
              if (late) co_await sleep_for(5ms);
              std::vector<std::byte> buffer(99);
              const std::string error = co_await error_of(team.recv(buffer, 0, 9));
              EXPECT(error == "a message of " + std::to_string(bytes) +
                                  " bytes from rank 0 with tag 9 was received into a buffer of 99 bytes (probe for its "
                                  "size first, or receive into a longer one)");
              EXPECT(buffer == filled(99, 0));
              EXPECT(co_await team.recv_value<int>(0, 9) == 5);
            }) == "");
    }
  }
}

TEST_CASE("messages: a value of another size is an error") {
  CHECK(run([](Rank& self) -> Task<> {
          if (self.id() == 0) {
            co_await self.world().send_value(short{1}, 1, 4);
            co_return;
          }
          const std::string error = co_await error_of(self.world().recv_value<int>(0, 4));
          EXPECT(error == "a message of 2 bytes from member 0 with tag 4 was received as a value of 4 bytes");
        }) == "");
}

TEST_CASE("messages: probes tell what a receive would get, and a matched one keeps it from all others") {
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{20'000}}) {
    CHECK(run([bytes](Rank& self) -> Task<> {
            Team& team = self.world();
            if (self.id() == 0) {
              std::vector<Task<>> sends;
              for (int i = 1; i <= 3; ++i)
                sends.push_back([](Team& of, std::size_t size, int number) -> Task<> {
                  const auto data = filled(size, number);
                  co_await of.send(data, 1, static_cast<std::uint64_t>(number));
                }(team, bytes, i));
              co_await when_all(std::move(sends));
              co_return;
            }
            EXPECT(!team.probe());
            EXPECT(!team.matched_probe(0, 2));
            const Received second = co_await team.wait_probe(kAnySource, 2);
            EXPECT(second.bytes == bytes);
            co_await team.wait_probe(0, 3);
            EXPECT(team.probe()->tag == 1);
            EXPECT(!team.probe(1));
            std::optional<MatchedMessage> matched = team.matched_probe(0, 2);
            EXPECT(matched.has_value());
            EXPECT(matched->info().bytes == bytes);
            EXPECT(!team.probe(0, 2));
            { const std::optional<MatchedMessage> dropped = team.matched_probe(kAnySource, 3); }
            std::vector<std::byte> buffer(bytes);
            co_await matched->recv(std::span(buffer));
            EXPECT(buffer == filled(bytes, 2));
            co_await team.recv(buffer);
            EXPECT(buffer == filled(bytes, 1));
            EXPECT(!team.probe());
          }) == "");
  }
}

TEST_CASE("messages: to oneself, both ways at once, and by what was prepared") {
  CHECK(run(
            [](Rank& self) -> Task<> {
              Team& team = self.world();
              const std::uint32_t right = (team.index() + 1) % team.size();
              const std::uint32_t left = (team.index() + team.size() - 1) % team.size();
              for (const std::size_t count : {std::size_t{1}, std::size_t{3000}, std::size_t{50000}}) {
                std::vector<int> mine(count);
                std::iota(mine.begin(), mine.end(), static_cast<int>(team.index()));
                std::vector<int> theirs(count);
                co_await team.send_recv(std::span(mine), right, 5, std::span(theirs), left, 5);
                EXPECT(theirs.front() == static_cast<int>(left));
                EXPECT(theirs.back() == static_cast<int>(left + count - 1));
                co_await team.send_recv(std::span(mine), team.index(), 6, std::span(theirs), kAnySource, 6);
                EXPECT(theirs == mine);
                PersistentSend send = team.prepare_send(std::span(mine), right, 8);
                PersistentRecv receive = team.prepare_recv(std::span(theirs), left, 8);
                for (int round = 0; round < 3; ++round) {
                  Started<Received> received = receive.start();
                  Started<> sent = send.start();
                  const Received what = co_await received.done();
                  co_await sent.done();
                  EXPECT(what.count<int>() == count);
                  EXPECT(theirs.back() == static_cast<int>(left + count - 1) + round);
                  mine.back() += 1;
                  co_await team.barrier();
                }
              }
            },
            3, 2) == "");
}

}  // namespace messages_test
