// Scans of data that goes through the local members piece by piece: more pieces than their windows hold, and members
// that come late.
#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/sim/job.hpp"

namespace long_scan_test {

using namespace coracle;
using namespace coracle::internals;
using sim::SimJob;
using sim::text_of;

namespace {

std::vector<std::uint64_t> given_by(std::uint32_t rank, std::size_t count) {
  std::vector<std::uint64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = (rank + 1) * (i * i + 7);
  return values;
}

/// Of ranks 0 to before `ranks`.
std::uint64_t sum_before(std::uint32_t ranks, std::size_t place) {
  return std::uint64_t{ranks} * (ranks + 1) / 2 * (place * place + 7);
}

bool holds_sums(const std::vector<std::uint64_t>& values, std::uint32_t ranks) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != sum_before(ranks, i)) return false;
  return true;
}

Task<> scan_both_ways(Rank& self, std::size_t count, std::uint32_t late) {
  if (self.id() == late) co_await sleep_for(std::chrono::milliseconds(2));
  std::vector<std::uint64_t> values = given_by(self.id(), count);
  co_await self.world().scan(std::span(values), std::plus<>());
  EXPECT(holds_sums(values, self.id() + 1));
  values = given_by(self.id(), count);
  co_await self.world().exclusive_scan(std::span(values), std::plus<>(), std::uint64_t{0});
  EXPECT(holds_sums(values, self.id()));
}

void run_all(std::uint32_t ranks, std::uint32_t nodes) {
  constexpr std::size_t kPiece = 64 * 1024 / sizeof(std::uint64_t);
  for (const std::size_t count : {kPiece, 3 * kPiece + 1, 8 * kPiece, 8 * kPiece + 1, 21 * kPiece - 1})
    for (const std::uint32_t late : {0U, 1U, ranks - 1}) {
      SimJob job;
      job.size = ranks;
      job.nodes = nodes;
      job.seed = count + late;
      job.segment_bytes = 8 << 20;
      const auto app = [count, late](Rank& self) -> Task<> { return scan_both_ways(self, count, late); };
      const sim::SimulationResult outcome = job.run(app);
      INFO(ranks, " ranks on ", nodes, " nodes, ", count, " numbers, rank ", late, " is late");
      CHECK(text_of(outcome) == "");
    }
}

}  // namespace

TEST_CASE("long scans: on one node, of two ranks to five") {
  for (std::uint32_t ranks = 2; ranks <= 5; ++ranks) run_all(ranks, 1);
}

TEST_CASE("long scans: on several nodes") {
  run_all(4, 2);
  run_all(7, 3);
  run_all(5, 5);
}

}  // namespace long_scan_test
