// Several homes with collective checkpoints, for many seeds: ranks, disks or all of it crash at any moment, single
// homes fail in checkpoints one after the other, and what is opened again is the last checkpoint that all homes have,
// or what was flushed. CORACLE_HOME_SEEDS=FIRST:COUNT chooses the seeds.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/sanitized.hpp"
#include "tests/storage/home_crashes.hpp"

TEST_CASE("homes: the last checkpoint that all have is found whole after any crash and any failures") {
  std::uint64_t first = 1;
  std::uint64_t count = ::test::kSanitized ? 100 : 600;
  if (const char* wanted = std::getenv("CORACLE_HOME_SEEDS")) {
    char* rest = nullptr;
    first = std::strtoull(wanted, &rest, 10);
    count = *rest == ':' ? std::strtoull(rest + 1, nullptr, 10) : 1;
  }
  std::uint64_t crashes = 0;
  std::uint64_t back = 0;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    coracle::test::HomeCrashes homes(seed);
    REQUIRE(homes.run() == "");
    crashes += homes.crashes();
    back += homes.went_back();
    failed += homes.failed_checkpoints();
  }
  MESSAGE(crashes, " crashes, ", failed, " checkpoints failed at some home, gone back ", back, " times");
  CHECK((count < 50 || (back > 0 && failed > 0)));
}
