// The protocol of pages as it runs, for thousands of seeds: jobs of random shape with tiny caches on modelled SSDs,
// while messages take their random times; and the same while ranks die. CORACLE_PAGE_SEEDS=FIRST:COUNT chooses the
// seeds.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <chrono>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/job.hpp"
#include "tests/storage/paged_traffic.hpp"

namespace paged_seeds_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;

namespace {

test::Seeds seeds_to_run(std::uint64_t usual) {
  return {"CORACLE_PAGE_SEEDS", test::kSanitized ? usual / 10 : usual};
}

/// Tiny, so that everything happens to every page.
coracle::internals::test::PagedTraffic traffic_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  coracle::internals::test::PagedTraffic traffic;
  traffic.seed = seed;
  traffic.phases = 2;
  traffic.steps = 8;
  traffic.at_once = 1 + random() % 4;
  traffic.durably = random() % 2 == 0;
  PagedOptions& options = traffic.options;
  options.page_bytes = 4096;
  options.bytes = 4096 * (1 + random() % 9) + 8 * (random() % 100);
  options.cache_bytes = 4096 * (4 + random() % 4);
  options.spread = static_cast<HomeSpread>(random() % 3);
  options.eviction = static_cast<storage::EvictionKind>(random() % 3);
  options.cooperative = random() % 4 != 0;
  options.read_ahead_pages = static_cast<std::uint32_t>(random() % 3);
  options.chances = static_cast<std::uint32_t>(random() % 4);
  traffic.naps = options.chances > 0 && random() % 2 == 0;
  options.model = SsdModel{1e9, 1e9, random() % 2 == 0 ? 1'000ULL : 100'000ULL};
  return traffic;
}

SimJob job_of(std::uint64_t seed) {
  SimJob job;
  job.size = static_cast<std::uint32_t>(2 + seed % 4);
  job.nodes = static_cast<std::uint32_t>(1 + seed / 4 % job.size);
  job.seed = seed;
  job.segment_bytes = 4 << 20;
  job.model.jitter_ns = 20'000;
  return job;
}

}  // namespace

TEST_CASE("paged segments keep every word under random delays") {
  const test::Seeds seeds = seeds_to_run(2500);
  std::uint64_t taken_in = 0;
  for (const std::uint64_t seed : seeds) {
    const SimJob job = job_of(seed);
    coracle::internals::test::PagedTraffic traffic = traffic_of(seed);
    traffic.taken_in = &taken_in;
    const SimulationResult outcome =
        job.run([&traffic](Rank& self) { return coracle::internals::test::run_paged_traffic(self, traffic); });
    REQUIRE_MESSAGE(text_of(outcome) == "", seeds.repeat(seed), ": ", text_of(outcome));
  }
  MESSAGE("pages taken in for others: ", taken_in);
  CHECK((taken_in > 0 || seeds.size() < 100));
}

TEST_CASE("paged segments return what was put or an error while ranks die") {
  const test::Seeds seeds = seeds_to_run(2500);
  std::uint64_t errors = 0;
  std::uint64_t taken_in = 0;
  for (const std::uint64_t seed : seeds) {
    SimJob job = job_of(seed);
    std::mt19937_64 random(seed ^ 0xdead);
    job.survive = true;
    job.nodes = job.size;
    const bool naps = traffic_of(seed).naps;
    std::string plan;
    for (std::uint64_t deaths = 1 + random() % (job.size - 1); deaths > 0; --deaths)
      plan += fmt::format("{} us kill rank {}\n", 100 + random() % (naps ? 3'000'000 : 3000), random() % job.size);
    job.faults = parse_faults(plan, "test", job.shape());
    coracle::internals::test::PagedDeaths deaths;
    const SimulationResult outcome = job.run([seed, &deaths](Rank& self) {
      return coracle::internals::test::run_mortal_traffic(self, traffic_of(seed), deaths);
    });
    REQUIRE_MESSAGE(text_of(outcome) == "", seeds.repeat(seed), ": ", text_of(outcome));
    errors += deaths.errors;
    taken_in += deaths.taken_in;
  }
  MESSAGE("errors told: ", errors, ", pages taken in for others: ", taken_in);
  CHECK((errors > 0 || seeds.size() < 100));
}

namespace {

Task<> put_word(PagedSegment& segment) {
  const std::uint64_t word = 1;
  co_await segment.put(0, std::as_bytes(std::span(&word, 1)));
}

/// Rank 2 wants to write a page that rank 1 has pinned to read; meanwhile its home, rank 0, goes.
Task<> lose_home(Rank& self, PagedOptions options, std::string& told) {
  std::optional<PagedSegment> segment = co_await PagedSegment::create(self.world(), options);
  std::optional<PinnedPage> pinned;
  if (self.id() == 1) pinned.emplace(co_await segment->pin(0));
  co_await self.world().barrier();
  if (self.id() == 0) {
    co_await sleep_for(std::chrono::milliseconds(1));
    segment.reset();
  } else if (self.id() == 1) {
    co_await sleep_for(std::chrono::milliseconds(2));
    pinned.reset();
  } else {
    const Result<> put = co_await as_result(put_word(*segment));
    told = put.ok() ? "" : put.error().what();
  }
  co_await sleep_for(std::chrono::milliseconds(5));
}

}  // namespace

TEST_CASE("who waits for a page when its home closes is told") {
  PagedOptions options;
  options.bytes = 4096;
  options.page_bytes = 4096;
  options.cache_bytes = 4 * 4096;
  options.spread = HomeSpread::one;
  options.model = SsdModel{1e9, 1e9, 1'000};
  SimJob job;
  job.size = job.nodes = 3;
  job.segment_bytes = 4 << 20;
  std::string told;
  const SimulationResult outcome = job.run([&](Rank& self) { return lose_home(self, options, told); });
  CHECK(text_of(outcome) == "");
  CHECK(told.find("its home has closed the segment") != std::string::npos);
}

}  // namespace paged_seeds_test
