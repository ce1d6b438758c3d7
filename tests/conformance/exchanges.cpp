// Scattered blocks from all members to all, between random nested layouts, on the whole job and on a part of it.
#include <vector>

#include "tests/collectives/scattered_trial.hpp"
#include "tests/conformance/suite.hpp"

namespace coracle::internals::conformance {

Task<> exchanges(Rank& self) {
  const std::vector<std::uint64_t> sizes =
      self.size() > 8 ? std::vector<std::uint64_t>{3, 300, 2'500} : std::vector<std::uint64_t>{0, 3, 40, 700, 9'000};
  auto part = co_await self.world().split(self.id() % 2, self.size() - self.id());
  std::uint64_t seed = 0;
  const std::uint64_t repetitions = is_brief() ? 1 : 4;
  for (std::uint64_t repetition = 0; repetition < repetitions; ++repetition) {
    for (const std::uint64_t bytes : sizes) {
      seed += 1;
      co_await test::attempt(self.world(), {seed, bytes, false});
      co_await test::attempt(*part, {seed, bytes, true});
    }
    std::vector<Task<>> tasks;
    for (std::uint64_t i = 0; i < 4; ++i) {
      Team& team = i % 2 == 0 ? self.world() : *part;
      tasks.push_back(test::attempt(team, {seed + i, sizes[i % sizes.size()], i / 2 == 0}));
    }
    co_await when_all(std::move(tasks));
  }
}

}  // namespace coracle::internals::conformance
