// The benchmark of unbalanced arrival, run in the simulator: its figures beside the closed forms.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apps/bench/benchmark.hpp"
#include "collectives/broadcast/broadcast_schedule.hpp"
#include "tests/places.hpp"
#include "tests/sim/job.hpp"

namespace arrival_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::bench;

namespace {

using Words = std::vector<std::string>;

Task<> run_arrival(Rank& self, Benchmark& arrival, const Choices& choices, Report& report) {
  Bench bench{self, quick_plan(), choices};
  co_await arrival.run(bench);
  if (self.id() == 0) report = bench.report;
}

/// `options`: of `coracle bench arrival`.
Report measure(const sim::SimJob& job, const Words& options, std::uint64_t bytes) {
  const std::unique_ptr<Benchmark> arrival = arrival_benchmark();
  CommandLine app("", "arrival");
  Choices choices;
  arrival->add_options(app, choices);
  std::vector<const char*> words{"arrival"};
  for (const std::string& option : options) words.push_back(option.c_str());
  REQUIRE_FALSE(app.read(static_cast<int>(words.size()), words.data()));
  arrival->check({});
  choices.sizes = {bytes};
  Report report;
  const sim::SimulationResult outcome =
      job.run([&](Rank& self) { return run_arrival(self, *arrival, choices, report); });
  REQUIRE(sim::text_of(outcome) == "");
  return report;
}

/// Of the row that was measured for this method and K.
nlohmann::json details_of(const Report& report, const char* method, std::uint64_t delay_ns) {
  for (const Row& row : report.tables().front().rows)
    if (row.details.at("method") == method && row.details.at("delay_ns") == delay_ns) return row.details;
  FAIL("no row of " << method << " with K = " << delay_ns << " ns");
  return {};
}

}  // namespace

TEST_CASE(
    "arrival: two nodes, short message: a fixed leader costs K / 6, the first of n to come K / ((n + 1) (n + 2))") {
  // K is large beside the time of a message, which depends a little on who waits for whom.
  constexpr std::uint64_t kDelayNs = 50'000'000;
  for (const std::uint32_t local_size : {4U, 8U, 12U}) {
    CAPTURE(local_size);
    const std::uint32_t competitors = std::min(local_size, kCompetitorsMax);
    sim::SimJob job;
    job.size = 2 * local_size;
    job.nodes = 2;
    const Words words{"--methods=pipelined,competitive", "--delays=0,50ms", "--iterations=4000", "--arrival-seed=4"};
    const Report report = measure(job, words, 16);
    for (const char* method : {"pipelined", "competitive"}) {
      CAPTURE(method);
      const bool competes = std::string(method) == "competitive";
      const double extra = details_of(report, method, kDelayNs).at("reach_ns").get<double>() -
                           details_of(report, method, 0).at("reach_ns").get<double>();
      const double expected = competes ? 1.0 / (competitors + 1) / (competitors + 2) : 1.0 / 6;
      CHECK(extra / kDelayNs == doctest::Approx(expected).epsilon(0.05));
      const nlohmann::json late = details_of(report, method, kDelayNs);
      CHECK(late.at("slowest_ns").get<double>() == doctest::Approx(late.at("model_ns").get<double>()).epsilon(0.05));
    }
  }
}

TEST_CASE("arrival: the same seeds give the same figures, and every method brings the data") {
  sim::SimJob job;
  job.size = 12;
  job.nodes = 4;
  int seed = 1;
  for (const std::string& arrival :
       {std::string("uniform"), std::string("exponential"), test::in_source("networks/arrivals.txt")}) {
    const auto words = [&] {
      return Words{"--iterations=5", "--trees=binomial,recursive_doubling,ring", fmt::format("--arrival={}", arrival),
                   fmt::format("--arrival-seed={}", seed)};
    };
    const Report once = measure(job, words(), 20'000);
    CHECK(once.tables().front().rows.size() == 18);
    CHECK(once.to_json() == measure(job, words(), 20'000).to_json());
    ++seed;
    CHECK(once.to_json() != measure(job, words(), 20'000).to_json());
  }
}

TEST_CASE("arrival: leaders come as late as their delays say") {
  sim::SimJob job;
  job.size = 16;
  job.nodes = 4;
  const Words words{"--iterations=1500", "--delays=10ms", "--methods=competitive"};
  const Report report = measure(job, words, 64);
  const auto& rows = report.tables().back().rows;
  REQUIRE(rows.size() == 2);
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(row.value.median == doctest::Approx(row.limit.median).epsilon(0.05));
    double sum = 0;
    for (const double share : row.details.at("share")) sum += share;
    CHECK(sum == doctest::Approx(1));
  }
  CHECK(rows[0].limit.median == doctest::Approx(5e6).epsilon(1e-3));
  CHECK(rows[1].limit.median == doctest::Approx(2e6).epsilon(1e-3));
}

TEST_CASE(
    "arrival: K = 0 is measured first, in whatever order it is given; nodes of different sizes have no closed form") {
  const Words words{"--iterations=3", "--delays=1ms,0"};
  for (const std::uint32_t ranks : {4U, 5U}) {
    sim::SimJob job;
    job.size = ranks;
    job.nodes = 2;
    const Report report = measure(job, words, 1000);
    const bool even = ranks == 4;
    CHECK(details_of(report, "competitive", 1'000'000).contains("model_ns") == even);
    CHECK(report.tables().back().rows.back().limit_name.empty() == !even);
  }
}

}  // namespace arrival_test
