// Several homes with collective checkpoints, for many seeds: ranks, disks or all of it crash at any moment, single
// homes fail in checkpoints one after the other, and what is opened again is the last checkpoint that all homes have,
// or what was flushed. CORACLE_HOME_SEEDS=FIRST:COUNT chooses the seeds.
#include <doctest/doctest.h>

#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/storage/home_crashes.hpp"

namespace home_crashes_test {

TEST_CASE("homes: the last checkpoint that all have is found whole after any crash and any failures") {
  const coracle::internals::test::Seeds seeds("CORACLE_HOME_SEEDS", coracle::internals::test::kSanitized ? 100 : 600);
  std::uint64_t crashes = 0;
  std::uint64_t back = 0;
  std::uint64_t failed = 0;
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    coracle::internals::test::HomeCrashes homes(seed);
    REQUIRE(homes.run() == "");
    crashes += homes.crashes();
    back += homes.went_back();
    failed += homes.failed_checkpoints();
  }
  MESSAGE(crashes, " crashes, ", failed, " checkpoints failed at some home, gone back ", back, " times");
  CHECK((seeds.size() < 50 || (back > 0 && failed > 0)));
}

}  // namespace home_crashes_test
