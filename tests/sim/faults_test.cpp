// What each kind of fault does to a simulated job, and what its ranks notice, and when.
#include "transports/sim/faults.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/sim/job.hpp"

namespace faults_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kLimitNs = 1'000'000;

/// Two ranks on two nodes, without chance in their times.
SimJob job_with(const char* faults, std::uint32_t size = 2, std::uint32_t nodes = 2) {
  SimJob job;
  job.size = size;
  job.nodes = nodes;
  job.model.jitter_ns = 0;
  job.silence_limit_ns = kLimitNs;
  job.faults = parse_faults(faults, "test", job.shape());
  return job;
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

Remote<std::uint64_t> place_on(std::uint32_t rank) {
  return Remote<std::uint64_t>(RemoteAddress{100'000, rank, 0});
}

/// Rank 0 starts a put to the last rank at 100 us.
Seen put_through(const SimJob& job) {
  Seen seen;
  const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
    if (self.id() != 0) co_return;
    co_await sleep_for(100us);
    co_await note(self, self.put_value(std::uint64_t{7}, place_on(self.size() - 1)), seen);
  });
  CHECK(text_of(outcome) == "");
  return seen;
}

constexpr std::uint64_t kStartNs = 100'000;

Task<> wait_for_answer(Rank& self, Seen& seen) {
  const auto slow = [](Rank&) -> Task<int> {
    co_await sleep_for(1h);
    co_return 1;
  };
  if (self.id() == 0) co_await note(self, self.call(1, slow), seen);
}

}  // namespace

TEST_CASE("without a fault a put takes its time by the model; a delay adds itself to both ways") {
  const Seen plain = put_through(job_with(""));
  CHECK(plain.error == "");
  CHECK(plain.ended_ns - kStartNs < 10'000);
  const Seen late = put_through(job_with("50 us delay node 0 node 1 by 30 us for 200 us"));
  CHECK(late.error == "");
  CHECK(late.ended_ns - plain.ended_ns == 60'000);
  CHECK(put_through(job_with("10 us delay rank 0 rank 1 by 30 us for 50 us")).ended_ns == plain.ended_ns);
}

TEST_CASE("a cut or a stop that passes within the silence limit costs time only") {
  for (const char* fault : {"50 us cut rank 0 node 1 for 900 us", "50 us stop rank 1 for 900 us",
                            "50 us stop node 1 for 900 us", "101 us cut node 0 node 1 for 849 us"}) {
    CAPTURE(fault);
    const Seen seen = put_through(job_with(fault));
    CHECK(seen.error == "");
    CHECK(seen.ended_ns > 950'000);
    CHECK(seen.ended_ns < 960'000);
  }
}

TEST_CASE("a peer that stays silent is lost after the limit, counted from when something first depended on it") {
  for (const char* fault : {"50 us cut rank 0 rank 1", "50 us stop rank 1", "50 us stop rank 1 for 5 ms",
                            "50 us kill node 1", "50 us cut node 0 node 1 for 2 ms"}) {
    CAPTURE(fault);
    const Seen seen = put_through(job_with(fault));
    CHECK(seen.error == "put on rank 0 with rank 1 failed: peer lost (silent for 1 ms)");
    CHECK(seen.ended_ns >= kStartNs + kLimitNs);
    CHECK(seen.ended_ns < kStartNs + kLimitNs + 1000);
  }
}

TEST_CASE("a dead process and a connection that is reset are noticed at once") {
  const Seen killed = put_through(job_with("50 us kill rank 1"));
  CHECK(killed.error == "put on rank 0 with rank 1 failed: peer lost (it was killed by the fault plan)");
  CHECK(killed.ended_ns - kStartNs < 10'000);
  const Seen reset = put_through(job_with("102 us reset rank 0 rank 1"));
  CHECK(reset.error == "put on rank 0 with rank 1 failed: peer lost (their connection was reset)");
  CHECK(reset.ended_ns - kStartNs < 10'000);
}

TEST_CASE("a call whose answer will never come ends, whatever has become of the peer") {
  Seen seen;
  const auto run = [&seen](const char* fault) {
    seen = Seen();
    return text_of(job_with(fault).run([&](Rank& self) { return wait_for_answer(self, seen); }));
  };
  CHECK(run("3 ms kill rank 1") == "");
  CHECK(seen.error == "call on rank 0 with rank 1 failed: peer lost (it was killed by the fault plan)");
  CHECK(seen.ended_ns < 3'010'000);
  CHECK(run("3 ms kill node 1") == "");
  CHECK(seen.error == "call on rank 0 with rank 1 failed: peer lost (silent for 1 ms)");
  CHECK(run("3 ms cut node 0 node 1") == "");
  CHECK(seen.ended_ns >= 4'000'000);
  CHECK(seen.ended_ns < 4'010'000);
}

TEST_CASE("loss is mutual: who was stopped for too long finds out when it goes on") {
  std::vector<std::string> losses;
  const SimJob job = job_with("50 us stop rank 1 for 5 ms");
  const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
    co_await sleep_for(100us);
    if (self.id() == 0) {
      Seen seen;
      co_await note(self, self.put_value(std::uint64_t{7}, place_on(1)), seen);
      co_return;
    }
    co_await self.more_lost(0);
    losses.push_back(self.losses()[0].reason);
    CHECK(self.loop().exact_now_ns() < 5'060'000);
    CHECK(*self.own(place_on(1)) == 0);  // what was held up is not let in any more
  });
  CHECK(text_of(outcome) == "");
  CHECK(losses == std::vector<std::string>{"it has given this rank up for lost"});
}

TEST_CASE("a team that loses a member fails as a whole, also where the loss is seen by two others only") {
  SimJob job = job_with("200 us cut rank 1 rank 2", 5, 1);
  std::vector<std::string> errors(5);
  const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
    for (int round = 0; round < 1000; ++round) {
      Seen seen;
      if (self.id() == 1) self.put_nbi(std::span<const std::uint64_t>(), place_on(2));  // so that somebody notices
      co_await note(self, self.world().barrier(), seen);
      errors[self.id()] = seen.error;
      if (!seen.error.empty()) break;
      co_await sleep_for(10us);
    }
    Seen ignored;
    co_await note(self, self.nbi_done(), ignored);
  });
  CHECK(text_of(outcome) == "");
  for (const std::string& error : errors) CHECK(error.find("peer lost") != std::string::npos);
  CHECK(outcome.virtual_ns < 4 * kLimitNs);
}

TEST_CASE("survivors that wait for what no named peer will do are told of the dead, and what to do") {
  const SimJob job = job_with("50 us kill rank 1", 3, 1);
  const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
    auto signals = self.allocate_signals(1);
    co_await self.wait(signals[0], 1);
  });
  const std::string text = text_of(outcome);
  CAPTURE(text);
  CHECK(text.find("2 of 3 ranks still wait") != std::string::npos);
  CHECK(text.find("rank 1 died or stopped for ever before") != std::string::npos);
  CHECK(text.find("self.wait(signal, n, peer)") != std::string::npos);
}

TEST_CASE("ranks that end with errors since others are dead are no deadlock; each such error names the peer") {
  SimJob job = job_with("50 us kill rank 1", 3, 1);
  job.survive = true;
  const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
    auto signals = self.allocate_signals(1);
    co_await self.wait(signals[0], 1, (self.id() + 1) % 3);
  });
  CHECK(text_of(outcome) == "rank 0: signal on rank 0 with rank 1 failed: peer lost (it was killed by the fault plan)");
}

TEST_CASE("a program that fails ends the job, or with `survive` is lost to the others, who go on") {
  for (const bool survive : {false, true}) {
    CAPTURE(survive);
    SimJob job = job_with("", 3, 1);
    job.survive = survive;
    std::vector<std::string> reasons;
    const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
      co_await sleep_for(50us);
      if (self.id() == 2) throw std::runtime_error("I have had enough");
      co_await self.more_lost(0);
      reasons.push_back(self.losses()[0].reason);
    });
    CHECK(text_of(outcome) == "rank 2: I have had enough");
    CHECK(reasons == std::vector<std::string>(survive ? 2 : 0, "its program failed"));
  }
}

TEST_CASE("the same seed and plan give the same run, event by event; another seed gives another") {
  const auto digest_of = [](std::uint64_t seed) {
    SimJob job = job_with("", 4, 2);
    job.model.jitter_ns = 500;
    job.seed = seed;
    job.faults = random_faults(seed, 200'000, job.shape());
    const SimulationResult outcome = job.run([](Rank& self) -> Task<> {
      for (std::uint32_t i = 0; i < 40; ++i) {
        Seen seen;
        co_await note(self, self.put_value(std::uint64_t{i}, place_on((self.id() + i) % self.size())), seen);
      }
    });
    CHECK(text_of(outcome) == "");
    return outcome.digest;
  };
  std::vector<std::uint64_t> digests;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    digests.push_back(digest_of(seed));
    CHECK(digests.back() == digest_of(seed));
  }
  std::sort(digests.begin(), digests.end());
  CHECK(std::unique(digests.begin(), digests.end()) == digests.end());
}

}  // namespace faults_test
