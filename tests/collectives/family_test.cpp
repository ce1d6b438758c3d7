// Every collective for every shape of job in simulation: all kinds, roots, sizes around the limits between algorithms,
// whole and interleaved teams, several in flight at once.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "tests/brief.hpp"
#include "tests/collectives/trial.hpp"
#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/job.hpp"

namespace family_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;
using test::attempt;
using test::Kind;
using test::kKinds;
using test::Trial;

namespace {

/// Ranks and nodes: up to 5 nodes of up to 5 ranks, also of different numbers.
struct Shape {
  std::uint32_t ranks;
  std::uint32_t nodes;
};
std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (std::uint32_t nodes = 1; nodes <= 5; ++nodes)
    for (std::uint32_t ranks = nodes; ranks <= 5 * nodes; ++ranks) all.push_back({ranks, nodes});
  return all;
}

Task<> every_kind(Team& team, std::size_t elements) {
  for (std::uint32_t root = 0; root < team.size(); ++root) {
    for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
      const bool rooted = Kind(kind) == Kind::reduce || Kind(kind) == Kind::gather || Kind(kind) == Kind::gather_v ||
                          Kind(kind) == Kind::scatter || Kind(kind) == Kind::scatter_v;
      if (!rooted && root > 0) continue;
      co_await attempt(team, {Kind(kind), elements, root, kind + root, false});
      co_await attempt(team, {Kind(kind), elements, root, kind + root, true});
    }
  }
}

std::string ending_on(const Shape& shape, const App& app) {
  SimJob job;
  job.size = shape.ranks;
  job.nodes = shape.nodes;
  return text_of(job.run(app));
}

/// Where there is little time, or each step takes five times as long.
bool few_shapes() noexcept {
  return test::is_brief() || test::kSanitized;
}

void run_on(const Shape& shape, const App& app) {
  INFO(shape.ranks, " ranks on ", shape.nodes, " nodes");
  CHECK(ending_on(shape, app) == "");
}

Task<> whole_and_parts(Rank& self, std::vector<std::size_t> sizes) {
  // Two teams whose members alternate, so that nodes are interleaved in each; the second in the opposite order.
  auto half = co_await self.world().split(self.id() % 2, self.id() % 2 == 0 ? self.id() : self.size() - self.id());
  for (const std::size_t elements : sizes) {
    co_await every_kind(self.world(), elements);
    co_await every_kind(*half, elements);
  }
  // Of a team that goes round the nodes, as one that was dealt to them.
  auto dealt = co_await self.world().split(0, self.id() * 7 % 11);
  co_await every_kind(*dealt, sizes.back());
}

}  // namespace

TEST_CASE("collectives: small ones of every kind on up to 5 nodes of up to 5 ranks") {
  for (const Shape& shape : shapes()) {
    if (few_shapes() && shape.nodes > 1 && (shape.ranks + shape.nodes) % 3 != 0) continue;
    run_on(shape, [](Rank& self) { return whole_and_parts(self, {0, 1, 2, 5, 33}); });
  }
}

TEST_CASE("collectives: large ones of every kind on nodes of all sizes") {
  for (const Shape& shape : {Shape{1, 1}, {2, 1}, {3, 1}, {5, 1}, {3, 3}, {4, 4}, {5, 5}, {7, 3}, {12, 4}, {13, 5}}) {
    if (few_shapes() && (shape.ranks == 4 || shape.ranks >= 12)) continue;  // half of the time
    run_on(shape, [](Rank& self) { return whole_and_parts(self, {1'000, 2'049, 20'000}); });
  }
}

namespace {

std::size_t random_size(Random& random) {
  // Each magnitude as often as any other.
  const std::uint64_t limit = std::uint64_t{1} << random.below(14);
  return static_cast<std::size_t>(random.below(limit + 1));
}

/// One member's way through a list of trials that all members know.
Task<> late_attempt(Team& team, Trial trial, std::uint64_t delay_ns) {
  // The collective has its number when its task starts; what this member is late with is what it does in between.
  co_await attempt(team, trial);
  co_await sleep_for(std::chrono::nanoseconds(delay_ns));
}

/// `parts`: also on parts of the job; a member that fails in the one team leaves the other alone.
Task<> random_trials(Rank& self, std::uint64_t seed, int bursts, bool parts) {
  Random shared(seed);
  Random own(seed * 1000 + self.id());
  auto part = co_await self.world().split(static_cast<std::uint32_t>(self.id() * (seed % 5) % 3), self.id() * 5 % 7);
  for (int burst = 0; burst < bursts; ++burst) {
    std::vector<Task<>> tasks;
    for (std::uint64_t left = 1 + shared.below(4); left > 0; --left) {
      const auto kind = Kind(shared.below(kKinds));
      const std::size_t elements = random_size(shared);
      const std::uint64_t root = shared.next();
      const std::uint64_t round = shared.below(1000);
      const bool free_order = shared.below(2) == 0;
      Team& team = !parts || shared.below(2) == 0 ? self.world() : *part;
      tasks.push_back(late_attempt(team,
                                   {kind, elements, static_cast<std::uint32_t>(root % team.size()), round, free_order},
                                   own.below(20'000)));
    }
    co_await sleep_for(std::chrono::nanoseconds(own.below(own.below(3) == 0 ? 100'000 : 1000)));
    co_await when_all(std::move(tasks));
  }
}

}  // namespace

TEST_CASE("collectives: random kinds, sizes, arrivals and teams, several in flight at once, for many seeds") {
  const test::Seeds seeds("CORACLE_COLLECTIVE_SEEDS", test::kSanitized ? 300 : 2000);
  for (const std::uint64_t seed : seeds) {
    Random random(seed);
    SimJob job;
    job.nodes = static_cast<std::uint32_t>(1 + random.below(5));
    job.size = job.nodes + static_cast<std::uint32_t>(random.below(2 * job.nodes + 2));
    job.seed = seed;
    const SimulationResult outcome = job.run([seed](Rank& self) { return random_trials(self, seed, 4, true); });
    INFO(seeds.repeat(seed), ": ", job.size, " ranks on ", job.nodes, " nodes");
    CHECK(text_of(outcome) == "");
    if (outcome.error) break;
  }
}

namespace {

struct Tally {
  std::uint32_t done = 0;
  std::uint32_t failed = 0;
};

Task<> until_lost(Rank& self, std::uint64_t seed, Tally& tally) {
  try {
    co_await random_trials(self, seed, 40, false);
    ++tally.done;
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;
    ++tally.failed;
  }
}

}  // namespace

TEST_CASE("collectives: a rank dies in the middle: an error on all survivors and no hang, for 1,000 seeds") {
  const test::Seeds seeds("CORACLE_COLLECTIVE_SEEDS", test::kSanitized ? 200 : 1000);
  std::uint32_t failed = 0;
  for (const std::uint64_t seed : seeds) {
    Random random(seed + 5'000'000);
    SimJob job;
    job.nodes = static_cast<std::uint32_t>(1 + random.below(4));
    job.size = std::max(job.nodes + static_cast<std::uint32_t>(random.below(2 * job.nodes + 2)), 2U);
    job.seed = seed;
    job.survive = true;
    Fault death{};
    death.kind = Fault::Kind::kill;
    death.first.number = static_cast<std::uint32_t>(random.below(job.size));
    death.at_ns = 1000 + random.below(2'000'000);
    job.faults = {death};
    Tally tally;
    const SimulationResult outcome = job.run([&](Rank& self) { return until_lost(self, seed, tally); });
    INFO(seeds.repeat(seed), ": ", job.size, " ranks on ", job.nodes, " nodes, ", to_text(death));
    REQUIRE(text_of(outcome) == "");
    const bool nobody_noticed = tally.done == job.size;
    CHECK((nobody_noticed || tally.done + tally.failed >= job.size - 1));
    failed += tally.failed;
  }
  CHECK((failed > seeds.size() || seeds.size() < 100));  // the deaths have to bite
}

TEST_CASE("collectives: members that give different sizes are told both") {
  for (const std::size_t elements : {std::size_t{1}, std::size_t{100}, std::size_t{100'000}}) {
    SimJob job;
    job.size = 2;
    const SimulationResult outcome = job.run([elements](Rank& self) {
      return attempt(self.world(), {Kind::all_reduce, elements + self.id(), 0, 1, false});
    });
    const std::string text = text_of(outcome);
    INFO(text);
    CHECK(text.find(fmt::format("all_reduce of {} bytes", elements * 8)) != std::string::npos);
    CHECK(text.find(fmt::format("all_reduce of {} bytes", elements * 8 + 8)) != std::string::npos);
    CHECK(text.find("must call the same collectives") != std::string::npos);
  }
}

namespace {

/// As large as elements of reductions may be.
struct Page {
  std::uint64_t words[kReducedBytesMax / sizeof(std::uint64_t)];

  static Page of(std::uint64_t seed) {
    Page page;
    for (std::uint64_t& word : page.words) word = seed = seed * 6364136223846793005 + 1;
    return page;
  }
  static Page sum(std::uint32_t begin, std::uint32_t end) {
    Page page{};
    for (std::uint32_t i = begin; i < end; ++i) page = page + of(i);
    return page;
  }
  friend Page operator+(Page left, const Page& right) {
    for (std::size_t i = 0; i < std::size(left.words); ++i) left.words[i] += right.words[i];
    return left;
  }
  bool operator==(const Page&) const = default;
};

void require(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}

Task<> reduce_pages(Team& team) {
  std::vector<Page> pages(team.size(), Page::of(team.index()));
  const Page all = Page::sum(0, team.size());
  co_await team.all_reduce(std::span(pages), std::plus<>());
  require(pages == std::vector<Page>(team.size(), all), "all_reduce");
  pages.assign(pages.size(), Page::of(team.index()));
  co_await team.reduce(std::span(pages), std::plus<>(), 0);
  require(team.index() > 0 || pages == std::vector<Page>(team.size(), all), "reduce");
  pages.assign(pages.size(), Page::of(team.index()));
  Page block{};
  co_await team.reduce_scatter(pages, std::span(&block, 1), std::plus<>());
  require(block == all, "reduce_scatter");
  co_await team.scan(std::span(pages), std::plus<>());
  require(pages == std::vector<Page>(team.size(), Page::sum(0, team.index() + 1)), "scan");
}

}  // namespace

TEST_CASE("collectives: elements of the largest size that reductions take") {
  for (const Shape& shape : {Shape{1, 1}, {2, 1}, {5, 1}, {3, 3}, {7, 3}}) {
    run_on(shape, [](Rank& self) -> Task<> {
      co_await reduce_pages(self.world());
      auto half = co_await self.world().split(self.id() % 2, self.id());
      co_await reduce_pages(*half);
    });
  }
}

TEST_CASE("collectives: of every kind, members that give different sizes get errors, and none waits for ever") {
  for (const Shape& shape : {Shape{2, 1}, {5, 1}, {3, 3}, {5, 2}}) {
    for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
      for (const std::size_t elements : {std::size_t{3}, std::size_t{3000}}) {
        std::uint32_t failed = 0;
        const std::string ending = ending_on(shape, [&](Rank& self) -> Task<> {
          const Trial trial{Kind(kind), elements + self.id() % 2, 0, 2, false};
          try {
            co_await attempt(self.world(), trial);
          } catch (const Error&) {
            ++failed;
          }
        });
        INFO(test::text_of({Kind(kind), elements, 0, 2, false}), ", ", shape.ranks, " ranks on ", shape.nodes,
             " nodes");
        // Who is through before the others have come hears of it in the next one, which may be its program's end.
        const bool heard_at_end = ending.find("must call the same collectives") != std::string::npos;
        CHECK_MESSAGE((ending.empty() || heard_at_end), ending);
        CHECK((failed > 0 || heard_at_end));
      }
    }
  }
}

namespace {

constexpr std::chrono::nanoseconds kLate = std::chrono::milliseconds(10);

/// The first member of each node but the root's is late; the others note when they are through, but for the root, which
/// keeps what the late ones have not fetched.
Task<> scatter_to_late_ones(Rank& self, std::size_t elements, std::uint64_t& latest_ns) {
  Team& world = self.world();
  const bool late = world.nodes().own() > 0 && world.nodes().local_index_of(world.index()) == 0;
  if (late) co_await sleep_for(kLate);
  std::vector<std::uint64_t> all(self.id() == 0 ? elements * self.size() : 0);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i / elements;
  std::vector<std::uint64_t> mine(elements);
  co_await world.scatter(all, std::span(mine), 0);
  CHECK(std::all_of(mine.begin(), mine.end(), [&](std::uint64_t value) { return value == self.id(); }));
  if (!late && self.id() != 0) latest_ns = std::max(latest_ns, self.loop().exact_now_ns());
  co_await world.barrier();
}

}  // namespace

TEST_CASE("scatter: of long blocks nobody waits for a late member of its node") {
  SimJob job;
  job.nodes = 3;
  job.size = 12;
  std::uint64_t latest_ns = 0;
  const SimulationResult outcome = job.run([&](Rank& self) { return scatter_to_late_ones(self, 20'000, latest_ns); });
  CHECK(text_of(outcome) == "");
  CHECK(latest_ns < static_cast<std::uint64_t>(kLate.count()));  // of virtual time
}

namespace {

/// What the root of a scatter on one node waits for itself, in virtual time.
std::uint64_t scatter_ns(std::size_t block_bytes) {
  std::uint64_t taken_ns = 0;
  run_on({4, 1}, [&](Rank& self) -> Task<> {
    const std::vector<std::byte> all(self.id() == 0 ? block_bytes * self.size() : 0);
    std::vector<std::byte> mine(block_bytes);
    co_await self.world().barrier();
    const std::uint64_t begin_ns = self.loop().exact_now_ns();
    co_await self.world().scatter(all, std::span(mine), 0);
    if (self.id() == 0) taken_ns = self.loop().exact_now_ns() - begin_ns;
    co_await self.world().barrier();
  });
  return taken_ns;
}

}  // namespace

TEST_CASE("scatter: the root's copy of the blocks that it gives takes time in a simulated job") {
  CHECK(scatter_ns(1'000) > scatter_ns(100));
}

}  // namespace family_test
