// Values whose size only their owner knows: in any order of events, several at once, and when a member gives up.
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/job.hpp"

namespace values_test {

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;

namespace {

/// The same at every member: who has how long a text in which round.
std::string text_of(std::uint64_t seed, std::uint64_t round, std::uint32_t member) {
  std::mt19937_64 random(seed * 1000003 + round * 1009 + member);
  constexpr std::size_t kScales[] = {1, 10, 510, 2'000, 9'000, 80'000};
  const std::size_t length = random() % kScales[random() % std::size(kScales)];
  std::string text(length, ' ');
  for (char& letter : text) letter = static_cast<char>('a' + random() % 26);
  return text;
}

Task<> check_broadcast(Team& team, std::uint64_t seed, std::uint64_t round) {
  const auto root = static_cast<std::uint32_t>(round % team.size());
  const std::string text = co_await team.broadcast(text_of(seed, round, team.index()), root);
  EXPECT(text == text_of(seed, round, root));
}
Task<> check_gather_all(Team& team, std::uint64_t seed, std::uint64_t round) {
  const std::vector<std::string> all = co_await team.gather_all(text_of(seed, round, team.index()));
  EXPECT(all.size() == team.size());
  for (std::uint32_t i = 0; i < team.size(); ++i) EXPECT(all[i] == text_of(seed, round, i));
}
Task<> check_gather(Team& team, std::uint64_t seed, std::uint64_t round) {
  const auto root = static_cast<std::uint32_t>(round % team.size());
  const std::vector<std::string> all = co_await team.gather(text_of(seed, round, team.index()), root);
  EXPECT(all.size() == (team.index() == root ? team.size() : 0));
  for (std::uint32_t i = 0; i < all.size(); ++i) EXPECT(all[i] == text_of(seed, round, i));
}
Task<> check_sum(Team& team, std::uint64_t round) {
  const std::uint64_t sum = co_await team.all_reduce(round, std::plus<>());
  EXPECT(sum == round * team.size());
}

/// All in flight at once, so that what comes second of one must not be taken for the first of another.
Task<> all_at_once(Rank& self, std::uint64_t seed) {
  Team& team = self.world();
  std::vector<Task<>> tasks;
  for (std::uint64_t round = 0; round < 4; ++round) {
    tasks.push_back(check_broadcast(team, seed, round));
    tasks.push_back(check_sum(team, round));
    tasks.push_back(check_gather_all(team, seed, round));
    tasks.push_back(team.barrier());
    tasks.push_back(check_gather(team, seed, round));
  }
  co_await when_all(std::move(tasks));
}

Task<> note_end(Task<> task, std::error_code& outcome) {
  try {
    co_await task;
  } catch (const Error& error) {
    outcome = error.code();
  }
}
/// Member 1 gives up while all wait for the last.
Task<> give_up(Rank& self, bool broadcasts, std::vector<std::error_code>& outcomes) {
  Team& team = self.world();
  if (self.id() == self.size() - 1) co_await sleep_for(10ms);
  Task<> task = broadcasts ? check_broadcast(team, 1, self.size() - 1) : check_gather_all(team, 1, 0);
  if (self.id() == 1) task = with_timeout(1ms, std::move(task));
  co_await note_end(std::move(task), outcomes[self.id()]);
}

}  // namespace

TEST_CASE("values: strings of any length reach all, several collectives at once, for many seeds") {
  const std::uint64_t seeds = test::kSanitized ? 10 : 60;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    sim::SimJob job;
    job.size = 1 + static_cast<std::uint32_t>(seed % 9);
    job.nodes = 1 + static_cast<std::uint32_t>(seed / 9) % std::min(job.size, 3U);
    job.seed = seed;
    CHECK(sim::text_of(job.run([seed](Rank& self) { return all_at_once(self, seed); })) == "");
  }
}

TEST_CASE("values: of a member that gives up all are told") {
  for (const bool broadcasts : {false, true}) {
    for (const std::uint32_t nodes : {1U, 2U}) {
      CAPTURE(broadcasts);
      CAPTURE(nodes);
      sim::SimJob job;
      job.size = 5;
      job.nodes = nodes;
      std::vector<std::error_code> outcomes(job.size);
      const auto app = [&](Rank& self) { return give_up(self, broadcasts, outcomes); };
      CHECK(sim::text_of(job.run(app)) == "");
      CHECK(outcomes[1] == std::errc::timed_out);
      for (const std::uint32_t other : {0U, 2U, 3U, 4U}) CHECK(outcomes[other] == Errc::given_up);
    }
  }
}

}  // namespace values_test
