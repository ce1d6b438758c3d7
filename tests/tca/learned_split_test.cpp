// What the learned split is worth on PEACH2's model, beside the best split that a search finds.
#include "transports/tca/dma_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "transports/tca/virtual_device.hpp"

namespace learned_split_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::tca;

namespace {

using Parts = std::array<std::uint64_t, LearnedSplit::kChannelsMax>;

std::uint64_t time_of(const Peach2Model& model, const Parts& parts) {
  ChannelTimes times(model);
  for (unsigned i = 0; i < 4; ++i) {
    const ChannelTimes::Piece piece{parts[i], parts[i]};
    if (parts[i] > 0) times.start(i, {&piece, 1}, 0);
  }
  double end = 0;
  while (const auto step = times.advance(1e12))
    if (step->what == ChannelTimes::Step::What::completed) end = step->time_ns;
  return static_cast<std::uint64_t>(end);
}

/// Over all splits in steps of a 64th of the bytes.
std::uint64_t best_time(const Peach2Model& model, std::uint64_t bytes) {
  constexpr std::uint64_t kSteps = 64;
  const std::uint64_t unit = bytes / kSteps;
  std::uint64_t best = ~std::uint64_t{0};
  const bool two = model.channels() == 2;
  for (std::uint64_t a = 0; a <= kSteps; ++a)
    for (std::uint64_t b = 0; a + b <= kSteps; ++b)
      for (std::uint64_t c = 0; a + b + c <= kSteps; ++c)
        if (!two || (c == 0 && a + b == kSteps))
          best = std::min(best, time_of(model, {a * unit, b * unit, c * unit, bytes - (a + b + c) * unit}));
  return best;
}

/// How long the pattern takes at its n-th run, by itself.
std::uint64_t run_of_pattern(VirtualDma& dma, std::uint64_t bytes) {
  Waited waited;
  const std::uint64_t before = dma.now_ns();
  dma.engine().copy({dma.memory(), dma.memory() + bytes, bytes}, waited);
  while (!waited.over) REQUIRE(dma.step());
  const std::uint64_t time = dma.now_ns() - before;
  dma.rest();
  return time;
}

}  // namespace

TEST_CASE("learned split: within ten runs it is within 3 % of the best split that a search finds") {
  Peach2Model model;
  SUBCASE("four channels") {}
  SUBCASE("two channels of 32 tags") {
    model = Peach2Model::two_channels();
  }
  for (std::uint64_t bytes = 512; bytes <= 1 << 20; bytes *= 2) {
    VirtualDma dma(2 * bytes, model);
    for (int run = 0; run < 10; ++run) run_of_pattern(dma, bytes);
    const auto learned = static_cast<double>(run_of_pattern(dma, bytes));
    const auto best = static_cast<double>(best_time(model, bytes));
    INFO(bytes, " bytes: ", learned, " ns beside ", best);
    CHECK(learned <= 1.03 * best);
  }
}

TEST_CASE("learned split: parts add up; all but the last are of whole granules") {
  const std::array<double, 4> rates{2.9, 1.3, 0.7, 0.7};
  const LearnedSplit split(rates);
  for (std::uint64_t bytes = 0; bytes < 20'000; bytes += 16) {
    const auto parts = split.parts(bytes, 256);
    REQUIRE(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}) == bytes);
    for (unsigned i = 0; i < 3; ++i) REQUIRE(parts[i] % 256 == 0);
  }
}

TEST_CASE("learned split: a channel that was slow once comes back") {
  const std::array<double, 2> rates{1, 1};
  LearnedSplit split(rates, 100);
  const std::array<std::uint64_t, 2> parts{1000, 1000};
  const std::array<std::uint64_t, 2> slow{1000, 1'000'000};
  split.learn(parts, slow);
  CHECK(split.weight(1) >= LearnedSplit::kFloor / 2);
  for (int run = 0; run < 20 && !split.frozen(); ++run) {
    const auto now = split.parts(1'000'000, 1);
    const std::array<std::uint64_t, 2> even{now[0] + 1, now[1] + 1};
    split.learn(now, even);
  }
  // Both are as fast, for whatever part: nothing pulls them apart, and nothing has fallen to zero.
  CHECK(split.weight(1) >= LearnedSplit::kFloor / 2);
  LearnedSplit fresh(rates, 100);
  fresh.learn(parts, slow);
  for (int run = 0; run < 50 && !fresh.frozen(); ++run) {
    const auto now = fresh.parts(1'000'000, 1);
    const std::array<std::uint64_t, 2> times{100 + now[0], 100 + now[1]};
    fresh.learn(now, times);
  }
  CHECK(fresh.frozen());
}

TEST_CASE("learned split: it learns anew when the pattern's time has changed for good") {
  const std::array<double, 2> rates{1, 1};
  LearnedSplit split(rates);
  const auto run = [&split](std::uint64_t first, std::uint64_t second) {
    const auto parts = split.parts(100'000, 1);
    const std::array<std::uint64_t, 2> times{100 + parts[0] * first, 100 + parts[1] * second};
    split.learn(parts, times);
  };
  for (int i = 0; i < 10; ++i) run(1, 1);
  REQUIRE(split.frozen());
  CHECK(split.weight(0) == doctest::Approx(0.5).epsilon(0.02));
  // One strange run is no reason.
  run(1, 4);
  run(1, 1);
  CHECK(split.frozen());
  CHECK(split.drifts() == 0);
  for (int i = 0; i < 20; ++i) run(1, 4);
  CHECK(split.drifts() == 1);
  CHECK(split.frozen());
  CHECK(split.weight(0) == doctest::Approx(0.8).epsilon(0.02));
}

}  // namespace learned_split_test
