// Distributed objects and functions that are told: waiting, losses, and mistakes that say what they are.
#include "runtime/rank/distributed.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/sim/job.hpp"
#include "transports/sim/faults.hpp"

namespace distributed_test {

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;

namespace {

int add(Rank&, int& object, int value) {
  return object += value;
}

/// Ranks come at different times, and ask before and after the others have made theirs.
Task<> ask_all(Rank& self) {
  co_await sleep_for(std::chrono::microseconds(self.id() * 37 % 50));
  std::vector<Started<std::string>> early;
  for (std::uint32_t peer = 0; peer < self.size(); ++peer)
    early.push_back(start(self, fetch_object<std::string>(self, peer, "name")));
  co_await sleep_for(std::chrono::microseconds(self.id() * 23 % 40));
  const Distributed<std::string> name(self, "name", std::to_string(self.id()));
  Distributed<int> sum(self, "sum", 0);
  for (std::uint32_t peer = 0; peer < self.size(); ++peer) {
    const std::string theirs = co_await early[peer].done();
    EXPECT(theirs == std::to_string(peer));
    co_await sum.call(peer, add, 1);
  }
  co_await self.world().barrier();
  EXPECT(*sum == static_cast<int>(self.size()));
}

Task<> wait_in_vain(Rank& self, std::string& text, std::error_code& code) {
  if (self.id() == 0) {
    const auto result = co_await as_result(with_timeout(1ms, fetch_object<int>(self, 1, "never")));
    text = result.error().what();
    code = result.code();
  } else {
    co_await sleep_for(2ms);
  }
  co_await self.world().barrier();
  const Distributed<int> late(self, "never", 1);  // whose waiter is gone
  co_await self.world().barrier();
}

Task<> wait_for_dead(Rank& self, std::error_code& code) {
  if (self.id() == 1) co_await sleep_for(1s);
  const auto result = co_await as_result(fetch_object<int>(self, 1, "never"));
  if (self.id() == 0) code = result.code();
}

/// Waits for what peers never make, and gives up: before, while and after the peers have noted the waits.
Task<> give_up(Rank& self, std::vector<std::size_t>& left) {
  for (int i = 0; i < 30; ++i) {
    const std::uint32_t peer = static_cast<std::uint32_t>(i) % self.size();
    const std::string name = "never " + std::to_string(i % 3);
    const auto limit = std::chrono::nanoseconds(i * i * 100);
    const auto result = co_await as_result(with_timeout(limit, fetch_object<int>(self, peer, name)));
    EXPECT(result.code() == std::errc::timed_out);
  }
  Started<int> kept = start(self, fetch_object<int>(self, (self.id() + 1) % self.size(), "later"));
  co_await self.world().barrier();
  co_await sleep_for(10ms);
  left[self.id()] = self.local<NamedObjects>().awaited();
  co_await self.world().barrier();
  const Distributed<int> later(self, "later", 7);
  EXPECT(co_await kept.done() == 7);
  EXPECT(self.local<NamedObjects>().awaited() == 0);
  co_await self.world().barrier();
}

struct Unmakeable {
  explicit Unmakeable(bool fails) {
    if (fails) throw std::runtime_error("no value");
  }
};
Task<> fail_to_make(Rank& self, std::size_t& failures) {
  for (int i = 0; i < 2; ++i) {
    try {
      const Distributed<Unmakeable> object(self, "object", true);
    } catch (const std::runtime_error&) {
      ++failures;
    }
  }
  co_await self.world().barrier();
  Started<int> early = start(self, fetch_object<int>(self, 1 - self.id(), "object"));
  co_await self.world().barrier();
  const Distributed<int> object(self, "object", static_cast<int>(self.id()));
  EXPECT(co_await early.done() == static_cast<int>(1 - self.id()));
  co_await self.world().barrier();
}

std::string text_of_error(const Result<int>& result) {
  return result.ok() ? "" : result.error().what();
}
Task<> mistake(Rank& self, std::vector<std::string>& texts) {
  const Distributed<std::vector<int>> object(self, "object");
  if (self.id() == 0) {
    texts.push_back(text_of_error(co_await as_result(fetch_object<int>(self, 1, "object"))));
    try {
      const Distributed<int> again(self, "object", 1);
    } catch (const Error& error) {
      texts.emplace_back(error.what());
    }
  }
  co_await self.world().barrier();
}

Task<> tell_the_dead(Rank& self, std::error_code& code) {
  if (self.id() == 1) co_await sleep_for(1s);
  std::size_t known = 0;
  known = co_await self.more_lost(known);
  const auto result = co_await as_result(self.tell(
      1, [](Rank&, int) {}, 3));
  code = result.code();
}

sim::SimJob job_with_death() {
  sim::SimJob job;
  job.nodes = 2;
  job.survive = true;
  job.faults = sim::parse_faults("100 us kill rank 1", "test", job.shape());
  return job;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("distributed: an object may be asked for before it is made, for many seeds") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    sim::SimJob job;
    job.size = 1 + static_cast<std::uint32_t>(seed % 6);
    job.nodes = 1 + static_cast<std::uint32_t>(seed % 2) % job.size;
    job.seed = seed;
    CHECK(sim::text_of(job.run(ask_all)) == "");
  }
}

TEST_CASE("distributed: waiting for an object that is not made can be given up, and names it") {
  std::string text;
  std::error_code code;
  sim::SimJob job;
  CHECK(sim::text_of(job.run([&](Rank& self) { return wait_in_vain(self, text, code); })) == "");
  CAPTURE(text);
  CHECK(code == std::errc::timed_out);
  CHECK(contains(text, "distributed object 'never' to be made"));
  CHECK(contains(text, "rank 1"));
}

// The waits stayed with the peer, for ever if it made no such object.
TEST_CASE("distributed: a wait that is given up is taken back from the peer, for many seeds") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    sim::SimJob job;
    job.size = 2 + static_cast<std::uint32_t>(seed % 3);
    job.nodes = 1 + static_cast<std::uint32_t>(seed % 2);
    job.seed = seed;
    std::vector<std::size_t> left(job.size);
    CHECK(sim::text_of(job.run([&](Rank& self) { return give_up(self, left); })) == "");
    CHECK(left == std::vector<std::size_t>(job.size, 1));
  }
}

TEST_CASE("distributed: an object whose making fails leaves its name free, and nobody finds it") {
  std::size_t failures = 0;
  sim::SimJob job;
  CHECK(sim::text_of(job.run([&](Rank& self) { return fail_to_make(self, failures); })) == "");
  CHECK(failures == 4);
}

TEST_CASE("distributed: waiting for an object ends with the loss of the peer") {
  std::error_code code;
  const sim::SimJob job = job_with_death();
  CHECK(sim::text_of(job.run([&](Rank& self) { return wait_for_dead(self, code); })) == "");
  CHECK(code == Errc::peer_lost);
}

TEST_CASE("distributed: another type, and a name that is taken, are refused with all that is known") {
  std::vector<std::string> texts;
  sim::SimJob job;
  CHECK(sim::text_of(job.run([&](Rank& self) { return mistake(self, texts); })) == "");
  REQUIRE(texts.size() == 2);
  CHECK(contains(texts[0], "rank 1 has made the distributed object 'object' as a std::vector<int"));
  CHECK(contains(texts[0], "asked for as a int"));
  CHECK(contains(texts[1], "rank 0 has a distributed object 'object' already (a std::vector<int"));
}

TEST_CASE("tell: a peer that is known to be lost is told nothing, and that is an error") {
  std::error_code code;
  const sim::SimJob job = job_with_death();
  CHECK(sim::text_of(job.run([&](Rank& self) { return tell_the_dead(self, code); })) == "");
  CHECK(code == Errc::peer_lost);
}

}  // namespace distributed_test
