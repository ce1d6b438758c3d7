// A store on a device that crashes, fails and lies, for many seeds.
#include <doctest/doctest.h>

#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/storage/store_trial.hpp"

namespace store_crash_test {

using coracle::internals::test::DiskFaults;
using coracle::internals::test::Seeds;
using coracle::internals::test::StoreTrial;
using coracle::internals::test::TrialPlan;

namespace {

void run_seeds(std::uint64_t usual, TrialPlan plan) {
  std::uint64_t crashes = 0;
  std::uint64_t checkpoints = 0;
  const Seeds seeds("CORACLE_STORE_SEEDS", coracle::internals::test::kSanitized ? usual / 10 : usual);
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    StoreTrial trial(seed, plan);
    REQUIRE(trial.run() == "");
    crashes += trial.crashes();
    checkpoints += trial.checkpoints_seen();
  }
  MESSAGE(crashes, " crashes, ", checkpoints, " checkpoints found whole");
}

/// Of so many seeds, those that find something wrong.
std::uint64_t found_by(std::uint64_t seeds, TrialPlan plan) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    try {
      StoreTrial trial(seed, plan);
      found += trial.run().empty() ? 0 : 1;
    } catch (const std::exception&) {
      ++found;  // it can't be opened at all
    }
  }
  return found;
}

}  // namespace

TEST_CASE("store: a crash at any moment loses nothing that was flushed and harms no checkpoint") {
  run_seeds(1000, {});
}

TEST_CASE("store: the same while flushes and checkpoints are cancelled") {
  TrialPlan plan;
  plan.cancels = true;
  run_seeds(400, plan);
}

TEST_CASE("store: the same on a device that fails and transfers less than it was asked to") {
  TrialPlan plan;
  plan.cancels = true;
  plan.faults.read_error = 0.02;
  plan.faults.write_error = 0.02;
  plan.faults.short_transfer = 0.1;
  plan.faults.bit_flip = 0.01;
  run_seeds(400, plan);
}

TEST_CASE("store: the same where syncs fail") {
  TrialPlan plan;
  plan.faults.sync_error = 0.05;
  run_seeds(400, plan);
}

TEST_CASE("store: a device that lies about its syncs is found out") {
  TrialPlan plan;
  plan.faults.lost_sync = 0.3;
  CHECK(found_by(50, plan) > 5);
}

}  // namespace store_crash_test
