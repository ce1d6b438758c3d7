// Collectives that a member ends early: everyone gets an error that names it, nobody hangs, and other teams go on.
#include <doctest/doctest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/sim/job.hpp"

namespace give_up_test {

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kQuitter = 1;

/// Which member had which error.
struct Seen {
  std::vector<std::error_code> codes;
  std::vector<std::string> texts;
};

struct Trial {
  std::uint32_t nodes;
  std::uint32_t local_size;
  Seen seen{};
};

Task<> note(Rank& self, Task<> task, Seen& seen) {
  std::error_code code;
  std::string text;
  try {
    co_await task;
  } catch (const Error& error) {
    code = error.code();
    text = error.what();
  } catch (const std::exception& error) {
    text = error.what();
  }
  seen.codes[self.id()] = code;
  seen.texts[self.id()] = text;
}

Task<> split_again(Team& team) {
  co_await team.split(0, 0);
}

/// All but the quitter and the last member enter and wait; the last comes much later.
Task<> quit(Rank& self, Task<> collective, Seen& seen) {
  if (self.id() == self.size() - 1) co_await sleep_for(10ms);
  if (self.id() == kQuitter)
    co_await note(self, with_timeout(1ms, std::move(collective)), seen);
  else
    co_await note(self, std::move(collective), seen);
}

void check_all_know(const Seen& seen) {
  for (std::size_t id = 0; id < seen.codes.size(); ++id) {
    CAPTURE(id);
    CAPTURE(seen.texts[id]);
    if (id == kQuitter) {
      CHECK((seen.codes[id] == std::errc::timed_out));
    } else {
      CHECK((seen.codes[id] == Errc::given_up));
      CHECK(seen.texts[id].find("rank 1 has ended a collective of this team early") != std::string::npos);
    }
  }
}

/// One that gives up may still have done its part, so that others come to their end. Whoever has an error is told of
/// it.
void check_told(const Seen& seen) {
  for (std::size_t id = 0; id < seen.codes.size(); ++id) {
    if (id == kQuitter || seen.texts[id].empty()) continue;
    CAPTURE(id);
    CAPTURE(seen.texts[id]);
    CHECK((seen.codes[id] == Errc::given_up));
  }
}

void check_broken(const Seen& later) {
  for (const std::error_code& code : later.codes) CHECK((code == Errc::given_up));
}

std::string run(Trial& trial, std::uint64_t seed, const App& app) {
  sim::SimJob job;
  job.size = trial.nodes * trial.local_size;
  job.nodes = trial.nodes;
  job.seed = seed;
  job.segment_bytes = 4 << 20;
  trial.seen = {std::vector<std::error_code>(job.size), std::vector<std::string>(job.size)};
  return sim::text_of(job.run(app));
}

std::vector<Trial> trials() {
  return {{1, 3}, {1, 8}, {2, 3}, {4, 1}, {4, 3}};
}

/// Trivially copyable; where it is armed, none can be made, as where there is no memory for it.
struct Refusing {
  Refusing() {
    if (armed) throw std::runtime_error("no room");
  }
  explicit Refusing(std::uint64_t given) : value(given) {}
  std::uint64_t value = 0;
  static inline bool armed = false;
};
Task<> gather_refusing(Team& team, bool refuses) {
  const Refusing mine(team.index());
  Refusing::armed = refuses;  // all ranks share it; this one does not wait before it throws
  std::exception_ptr failure;
  try {
    const std::vector<Refusing> all = co_await team.gather_all(mine);
  } catch (...) {
    failure = std::current_exception();
  }
  Refusing::armed = false;
  if (failure) std::rethrow_exception(failure);
}

/// Calls with arguments that would end the program, each by itself.
constexpr std::uint32_t kWrongCalls = 14;
Task<> call_wrongly(Team& team, std::uint32_t which) {
  const std::uint32_t nobody = team.size();
  std::vector<std::uint64_t> some(3 * team.size() + 1);
  std::vector<std::uint64_t> few(1);
  const std::vector<std::size_t> counts(team.size() + 1, 1);
  const std::string text = "text";
  const std::vector<ScatteredSource> sources;
  const std::vector<ScatteredTarget> targets;
  const Remote<std::uint64_t> value;
  switch (which) {
    case 0:
      co_await team.broadcast(some, nobody);
      break;
    case 1:
      co_await team.broadcast(value, nobody);
      break;
    case 2:
      co_await team.broadcast(text, nobody);
      break;
    case 3:
      co_await team.reduce(some, std::plus<>(), nobody);
      break;
    case 4:
      co_await team.gather(some, std::span(few), nobody);
      break;
    case 5:
      co_await team.gather(text, nobody);
      break;
    case 6:
      co_await team.gather_v(some, std::span(few), counts, nobody);
      break;
    case 7:
      co_await team.scatter(some, std::span(few), nobody);
      break;
    case 8:
      co_await team.scatter_v(some, counts, std::span(few), nobody);
      break;
    case 9:
      co_await team.gather_all(few, std::span(some));
      break;
    case 10:
      co_await team.gather_all_v(few, std::span(some), counts);
      break;
    case 11:
      co_await team.reduce_scatter(some, std::span(few), std::plus<>());
      break;
    case 12:
      co_await team.all_to_all(some, std::span(few));
      break;
    case 13:
      co_await team.all_to_all_w(sources, targets);
      break;
  }
}

}  // namespace

TEST_CASE("giving up: a time limit on a barrier ends it for all, and later ones at once; the job ends well") {
  for (Trial& trial : trials()) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(trial.nodes);
      CAPTURE(trial.local_size);
      CAPTURE(seed);
      Seen later;
      const auto app = [&trial, &later](Rank& self) -> Task<> {
        if (self.id() == 0) later = trial.seen;
        co_await quit(self, self.world().barrier(), trial.seen);
        co_await note(self, self.world().barrier(), later);
      };
      CHECK(run(trial, seed, app) == "");
      check_all_know(trial.seen);
      check_broken(later);
    }
  }
}

TEST_CASE("giving up: a time limit holds while a barrier waits for an earlier one of the same member") {
  for (Trial& trial : trials()) {
    CAPTURE(trial.nodes);
    CAPTURE(trial.local_size);
    Seen earlier;
    bool last_has_come = false;
    bool quit_in_time = false;
    const auto app = [&](Rank& self) -> Task<> {
      if (self.id() == 0) earlier = trial.seen;
      const bool is_last = self.id() == self.size() - 1;
      if (is_last) co_await sleep_for(5ms);
      if (is_last) last_has_come = true;
      Started<> first = start(self, note(self, self.world().barrier(), earlier));
      co_await quit(self, self.world().barrier(), trial.seen);
      if (self.id() == kQuitter) quit_in_time = !last_has_come;
      co_await first.done();
    };
    CHECK(run(trial, 1, app) == "");
    CHECK(quit_in_time);
    CHECK((trial.seen.codes[kQuitter] == std::errc::timed_out));
    CHECK((earlier.codes[kQuitter] == Errc::given_up));
  }
}

TEST_CASE("giving up: a time limit on a broadcast whose root is late, in every way") {
  using enum BroadcastMethod;
  for (Trial& trial : trials()) {
    for (const BroadcastMethod method : {plain, pipelined, competitive}) {
      for (const std::size_t bytes : {8UL, 2000UL, 100'000UL}) {
        CAPTURE(trial.nodes);
        CAPTURE(trial.local_size);
        CAPTURE(bytes);
        CAPTURE(static_cast<int>(method));
        Seen later;
        const auto app = [&trial, &later, method, bytes](Rank& self) -> Task<> {
          if (self.id() == 0) later = trial.seen;
          std::vector<std::byte> data(bytes);
          const std::uint32_t root = self.size() - 1;
          co_await quit(self, self.world().broadcast(data, root, {method, BroadcastTree::ring, 8192, 4, 2}),
                        trial.seen);
          co_await note(self, self.world().barrier(), later);
        };
        CHECK(run(trial, bytes, app) == "");
        CHECK((trial.seen.codes[kQuitter] == std::errc::timed_out));
        check_told(trial.seen);
        check_broken(later);
      }
    }
  }
}

TEST_CASE("giving up: a time limit on a sender of much, whose receiver is late") {
  for (Trial& trial : trials()) {
    CAPTURE(trial.nodes);
    CAPTURE(trial.local_size);
    Seen later;
    const auto app = [&trial, &later](Rank& self) -> Task<> {
      if (self.id() == 0) later = trial.seen;
      const std::uint32_t root = self.size() - 1;
      const std::vector<std::uint64_t> mine(10'000, self.id());
      std::vector<std::uint64_t> all(self.id() == root ? mine.size() * self.size() : 0);
      co_await quit(self, self.world().gather(std::span(mine), std::span(all), root), trial.seen);
      co_await note(self, self.world().barrier(), later);
    };
    CHECK(run(trial, 3, app) == "");
    check_told(trial.seen);
    // Where a local member has taken its data it was in time.
    const bool gave_up = !trial.seen.texts[kQuitter].empty();
    for (const std::error_code& code : later.codes) CHECK((code == Errc::given_up) == gave_up);
  }
}

TEST_CASE("giving up: an operation that throws breaks its team and no other") {
  for (Trial& trial : trials()) {
    CAPTURE(trial.nodes);
    CAPTURE(trial.local_size);
    const auto app = [&trial](Rank& self) -> Task<> {
      const std::unique_ptr<Team> team = co_await self.world().split(0, self.id());
      const auto picky = [id = self.id()](std::uint64_t left, std::uint64_t right) -> std::uint64_t {
        if (id == 0) throw std::runtime_error("no such sum");
        return left + right;
      };
      std::vector<std::uint64_t> values(3000, self.id());
      co_await note(self, team->all_reduce(values, picky), trial.seen);
      Seen seen{std::vector<std::error_code>(self.size()), std::vector<std::string>(self.size())};
      co_await note(self, team->barrier(), seen);
      EXPECT(seen.codes[self.id()] == Errc::given_up);
      co_await note(self, split_again(*team), seen);
      EXPECT(seen.codes[self.id()] == Errc::given_up);
      EXPECT(seen.texts[self.id()].find("split") != std::string::npos);
      co_await self.world().barrier();
      const std::uint64_t sum = co_await self.world().all_reduce(std::uint64_t{1}, std::plus<std::uint64_t>());
      EXPECT(sum == self.size());
    };
    CHECK(run(trial, 1, app) == "");
    CHECK(trial.seen.texts[0] == "no such sum");
    for (std::size_t id = 1; id < trial.seen.texts.size(); ++id) CHECK_FALSE(trial.seen.texts[id].empty());
    trial.seen.texts[0].clear();
    check_told(trial.seen);
  }
}

TEST_CASE("giving up: a member that has no room for what comes breaks its team") {
  for (Trial& trial : trials()) {
    CAPTURE(trial.nodes);
    CAPTURE(trial.local_size);
    const auto app = [&trial](Rank& self) -> Task<> {
      const std::unique_ptr<Team> team = co_await self.world().split(0, self.id());
      co_await note(self, gather_refusing(*team, self.id() == kQuitter), trial.seen);
      co_await self.world().barrier();
    };
    CHECK(run(trial, 1, app) == "");
    CHECK(trial.seen.texts[kQuitter] == "no room");
    for (const std::string& text : trial.seen.texts) CHECK_FALSE(text.empty());
    check_told(trial.seen);
  }
}

TEST_CASE("giving up: of a broken team members are told so, whatever is wrong with their arguments") {
  for (Trial& trial : trials()) {
    CAPTURE(trial.nodes);
    CAPTURE(trial.local_size);
    const auto app = [&trial](Rank& self) -> Task<> {
      const std::unique_ptr<Team> team = co_await self.world().split(0, self.id());
      if (self.id() == kQuitter) team->core().give_up();
      co_await note(self, team->barrier(), trial.seen);  // the others are told
      for (std::uint32_t which = 0; which < kWrongCalls; ++which) {
        co_await note(self, call_wrongly(*team, which), trial.seen);
        EXPECT(trial.seen.codes[self.id()] == Errc::given_up);
      }
    };
    CHECK(run(trial, 1, app) == "");
  }
}

}  // namespace give_up_test
