// Virtual time, chance, deadlocks and failures of simulated jobs.
#include "transports/sim/simulation.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/sim/job.hpp"

namespace world_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;
using namespace std::chrono_literals;

namespace {

Task<> sleep_two_days() {
  co_await sleep_for(48h);
}

Task<> sleep_long(Rank& self) {
  const std::uint64_t before = self.loop().exact_now_ns();
  co_await sleep_for(1h * (self.id() + 1));
  EXPECT(self.loop().exact_now_ns() - before == 3'600'000'000'000ULL * (self.id() + 1));
  bool late = false;
  try {
    co_await with_timeout(24h, sleep_two_days());
  } catch (const Error& error) {
    late = error.code() == std::errc::timed_out;
  }
  EXPECT(late);
}

/// Two puts to the same place at once: which one stays?
Task<> race_of_puts(Rank& self, std::uint64_t& last) {
  auto slab = self.allocate<std::uint64_t>(1);
  const auto places = co_await self.world().gather_all(slab.remote());
  if (self.id() == 0) {
    const std::uint64_t values[] = {1, 2};
    self.put_nbi(std::span(values).first(1), places[1]);
    self.put_nbi(std::span(values).last(1), places[1]);
    co_await self.nbi_done();
  }
  co_await self.world().barrier();
  if (self.id() == 1) last = slab[0];
}

/// A mistake: the source is changed while the put is under way.
Task<> use_source_too_early(Rank& self, std::uint64_t& landed) {
  auto slab = self.allocate<std::uint64_t>(1);
  const auto places = co_await self.world().gather_all(slab.remote());
  if (self.id() == 0) {
    std::uint64_t value = 1;
    Handle put = self.put_nb(std::span<const std::uint64_t>(&value, 1), places[1]);
    co_await sleep_for(200ns);
    value = 2;
    co_await put.done();
  }
  co_await self.world().barrier();
  if (self.id() == 1) landed = slab[0];
}

/// How often `run` gives each of 1 and 2 over many seeds.
template <class Run>
std::array<int, 3> tally(SimJob job, Run run) {
  std::array<int, 3> counts{};
  for (job.seed = 1; job.seed <= 100; ++job.seed) {
    std::uint64_t value = 0;
    const SimulationResult outcome = job.run([&](Rank& self) { return run(self, value); });
    CAPTURE(job.seed);
    REQUIRE(text_of(outcome) == "");
    REQUIRE((value == 1 || value == 2));
    ++counts[value];
  }
  return counts;
}

Task<> note_after_a_turn(std::uint64_t number, std::uint64_t& first) {
  co_await yield();
  if (first == 0) first = number;
}

/// Two coroutines that are ready at the same time: which one runs first?
Task<> race_of_coroutines(Rank& self, std::uint64_t& first) {
  if (self.id() != 0) co_return;
  std::vector<Task<>> tasks;
  tasks.push_back(note_after_a_turn(1, first));
  tasks.push_back(note_after_a_turn(2, first));
  co_await when_all(std::move(tasks));
}

/// Two ranks that raise the same counter at the same time: who was first?
Task<> race_of_ranks(Rank& self, std::uint64_t& first) {
  auto slab = self.allocate<std::uint64_t>(1);
  const auto places = co_await self.world().gather_all(slab.remote());
  co_await sleep_for(1ms - std::chrono::nanoseconds(self.loop().exact_now_ns()));
  const std::uint64_t before = co_await self.fetch_add(places[0], 1);
  if (before == 0) first = self.id() + 1;
  co_await self.world().barrier();
}

struct Swallowed {
  explicit Swallowed(Rank&) {}
  std::uint64_t count = 0;
};
void swallow(Rank& rank, const Message&) {
  ++rank.local<Swallowed>().count;
}

/// Sends to a rank that takes one message per millisecond; notes how many more were sent than can have been taken.
Task<> flood(Rank& self, std::uint64_t count, std::size_t bytes, std::uint64_t& most_ahead) {
  const std::vector<std::byte> payload(bytes);
  if (self.id() == 0) {
    for (std::uint64_t sent = 1; sent <= count; ++sent) {
      co_await self.request(1, swallow, payload);
      const std::uint64_t taken_at_most = self.loop().exact_now_ns() / 1'000'000 + 1;
      most_ahead = std::max(most_ahead, sent - std::min(sent, taken_at_most));
    }
  }
  co_await self.world().barrier();
  if (self.id() == 1) {
    co_await sleep_for(std::chrono::milliseconds(count));
    EXPECT(self.local<Swallowed>().count == count);
  }
}

/// Everybody waits for a signal, but nobody raises those of odd ranks.
Task<> wait_for_ever(Rank& self) {
  auto signals = self.allocate_signals(1);
  const auto places = co_await self.world().gather_all(signals.remote());
  if (self.id() % 2 == 0) co_await self.raise(places[self.id()]);
  co_await self.wait(signals[0], 1);
}

Task<> fail_on_two(Rank& self) {
  co_await self.world().barrier();
  if (self.id() == 2) throw std::runtime_error("I have had enough");
  co_await self.world().barrier();
}

struct Ended {
  int status;
  std::string text;
};

/// simulate() in a process of its own, since it ends it: exit status and standard error.
Ended simulate_apart(const SimJob& job, const App& app) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    static constexpr Wiring wiring{nullptr, nullptr, finalize_job, simulate};
    const JobRegion region = JobRegion::create(job.shape(), JobRegion::Backing::anonymous);
    ::_exit(simulate(region, app, wiring));
  }
  ::close(ends[1]);
  Ended ended{0, ""};
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    ended.text.append(buffer, static_cast<std::size_t>(count));
  ::close(ends[0]);
  ::waitpid(child, &ended.status, 0);
  return ended;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

Task<> read_a_file(Rank& self) {
  const std::uint64_t before = self.loop().exact_now_ns();
  const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  EXPECT(fd >= 0);
  std::array<std::byte, 4> magic{};
  const std::size_t got = co_await self.loop().io().read(fd, magic.data(), magic.size(), 0);
  ::close(fd);
  EXPECT(got == 4);
  EXPECT(std::memcmp(magic.data(), "\177ELF", 4) == 0);
  EXPECT(self.loop().exact_now_ns() - before < 1'000'000);  // some turns, but not the device's time
  co_await self.world().barrier();
}

}  // namespace

TEST_CASE("hours of sleep take virtual time only, and time limits hold in it") {
  SimJob job;
  job.size = 3;
  const SimulationResult outcome = job.run(sleep_long);
  CHECK(text_of(outcome) == "");
  CHECK(outcome.virtual_ns > 27 * 3'600'000'000'000ULL);
  CHECK(outcome.events < 1000);
}

TEST_CASE("independent puts overtake each other for some seeds, if the model lets them, and else for none") {
  SimJob job;
  const auto free = tally(job, race_of_puts);
  CHECK(free[1] > 5);
  CHECK(free[2] > 5);
  job.model.reorder = false;
  CHECK(tally(job, race_of_puts)[2] == 100);
}

TEST_CASE("of coroutines that are ready together, and of ranks that do the same, each is first for some seeds") {
  SimJob job;
  const auto coroutines = tally(job, race_of_coroutines);
  CHECK(coroutines[1] > 20);
  CHECK(coroutines[2] > 20);
  const auto ranks = tally(job, race_of_ranks);
  CHECK(ranks[1] > 5);
  CHECK(ranks[2] > 5);
}

TEST_CASE("a source that changes before its put has finished arrives changed, for some seeds") {
  SimJob job;
  job.nodes = 2;
  const auto landed = tally(job, use_source_too_early);
  CHECK(landed[1] > 0);
  CHECK(landed[2] > 0);
}

TEST_CASE("senders wait for a slow receiver: no more is under way than its inbox holds, and all of it gets there") {
  SimJob job;
  job.model.inside.overhead_receive_ns = 1'000'000;
  job.model.eager_bytes_max = 1000;
  job.model.inbox_bytes = 10'000;
  for (const std::size_t bytes : {0U, 100U, 1000U}) {
    CAPTURE(bytes);
    std::uint64_t most_ahead = 0;
    const SimulationResult outcome = job.run([&](Rank& self) { return flood(self, 1000, bytes, most_ahead); });
    CHECK(text_of(outcome) == "");
    CHECK(outcome.virtual_ns >= 999'000'000);
    CHECK(most_ahead <= job.model.inbox_bytes / (bytes + kMessageOverheadBytes));
    CHECK(most_ahead + 2 >= job.model.inbox_bytes / (bytes + kMessageOverheadBytes));
  }
}

TEST_CASE("reach() gives nothing: in a simulated job all access to peers takes its time") {
  SimJob job;
  const SimulationResult outcome = job.run([](Rank& self) -> Task<> {
    auto slab = self.allocate<int>(1);
    EXPECT(self.reach(slab.remote()) == nullptr);
    co_return;
  });
  CHECK(text_of(outcome) == "");
}

TEST_CASE("a deadlock ends the job and says who waits for what, and which seed repeats it") {
  SimJob job;
  job.size = 9;
  job.seed = 77;
  const Ended ended = simulate_apart(job, wait_for_ever);
  CAPTURE(ended.text);
  CHECK(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 1);
  CHECK(contains(ended.text, "deadlock"));
  CHECK(contains(ended.text, "9 of 9 ranks still wait"));
  CHECK(contains(ended.text, "4 x signal at simulation_test.cpp:"));
  CHECK(contains(ended.text, "on ranks 1, 3, 5, 7"));
  CHECK(contains(ended.text, "seed 77 repeats this"));
}

TEST_CASE("a rank that fails ends the job, by name and with the seed") {
  SimJob job;
  job.size = 5;
  job.seed = 78;
  const Ended ended = simulate_apart(job, fail_on_two);
  CAPTURE(ended.text);
  CHECK(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 1);
  CHECK(contains(ended.text, "coracle: rank 2: I have had enough\n"));
  CHECK(contains(ended.text, "seed 78 repeats this"));
  CHECK(!contains(ended.text, "deadlock"));
}

TEST_CASE("files are read in real time, while virtual time stands still") {
  SimJob job;
  job.size = 4;
  CHECK(text_of(job.run(read_a_file)) == "");
}

}  // namespace world_test
