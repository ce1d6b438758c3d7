#include "transports/tca/peach2_model.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace peach2_model_test {

using namespace coracle::internals::tca;

namespace {

using Step = ChannelTimes::Step;

/// When each channel has moved its bytes, all having started at 0.
std::array<double, 4> times_for(const Peach2Model& model, const std::array<std::uint64_t, 4>& bytes,
                                std::uint64_t block_bytes = 0) {
  ChannelTimes times(model);
  for (unsigned i = 0; i < 4; ++i) {
    const ChannelTimes::Piece piece{bytes[i], block_bytes == 0 ? bytes[i] : block_bytes};
    if (bytes[i] > 0) times.start(i, {&piece, 1}, 0);
  }
  std::array<double, 4> ends{};
  while (const auto step = times.advance(1e12))
    if (step->what == Step::What::completed) ends[step->channel] = step->time_ns;
  return ends;
}

double one_channel_gbps(std::uint64_t bytes) {
  return static_cast<double>(bytes) / times_for({}, {bytes, 0, 0, 0})[0];
}

}  // namespace

TEST_CASE("peach2: each channel by itself comes to the published plateau") {
  const std::array<double, 4> published{2.9, 1.3, 0.7, 0.7};
  for (unsigned channel = 0; channel < 4; ++channel) {
    std::array<std::uint64_t, 4> bytes{};
    bytes[channel] = 4 << 20;
    const double rate = (4 << 20) / times_for({}, bytes)[channel];
    CHECK(rate > 0.95 * published[channel]);
    CHECK(rate < 1.05 * published[channel]);
  }
}

TEST_CASE("peach2: one channel takes as long for a message as the published figures say") {
  CHECK(one_channel_gbps(4096) == doctest::Approx(0.91).epsilon(0.03));
  CHECK(one_channel_gbps(8192) == doctest::Approx(1.15).epsilon(0.03));
  CHECK(one_channel_gbps(16384) == doctest::Approx(1.64).epsilon(0.03));
  CHECK(one_channel_gbps(131072) == doctest::Approx(2.63).epsilon(0.03));
}

TEST_CASE("peach2: channels share a full link in proportion to their tags and leave what they can't use") {
  // Three channels use less than the link has: each goes at its own pace.
  const auto alone = times_for({}, {0, 130'000, 0, 0});
  const auto three = times_for({}, {0, 130'000, 70'000, 70'000});
  CHECK(three[1] == doctest::Approx(alone[1]));
  // All four want more than there is: the first gets half of it.
  const auto four = times_for({}, {1 << 20, 1 << 20, 1 << 20, 1 << 20});
  CHECK((1 << 20) / four[0] == doctest::Approx(1.55).epsilon(0.01));
  // A channel that has ended leaves its part to the others.
  CHECK(4.0 * (1 << 20) / std::max(four[2], four[3]) < 3.1);
  const auto late = times_for({}, {16'384, 1 << 20, 0, 0});
  CHECK((1 << 20) / late[1] == doctest::Approx(1.3).epsilon(0.02));
}

TEST_CASE("peach2: short blocks cost whole read requests") {
  const std::uint64_t bytes = 1 << 18;
  const double whole = times_for({}, {bytes, 0, 0, 0}, 256)[0];
  const double half = times_for({}, {bytes, 0, 0, 0}, 128)[0];
  CHECK(half > 1.9 * whole);
  CHECK(times_for({}, {bytes, 0, 0, 0}, 1024)[0] == doctest::Approx(whole));
}

TEST_CASE("peach2: the pieces of a chain land one after another and the last with the completion word") {
  ChannelTimes times({});
  const std::vector<ChannelTimes::Piece> pieces{{4096, 4096}, {16, 16}, {4096, 4096}};
  times.start(0, pieces, 100);
  CHECK_FALSE(times.stopped(0));
  std::vector<Step> steps;
  while (const auto step = times.advance(1e9)) steps.push_back(*step);
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].what == Step::What::piece);
  CHECK(steps[0].piece == 0);
  CHECK(steps[1].piece == 1);
  CHECK(steps[2].what == Step::What::completed);
  CHECK(steps[2].piece == 2);
  CHECK(steps[3].what == Step::What::stopped);
  CHECK(steps[3].time_ns == doctest::Approx(steps[2].time_ns + Peach2Model().stop_ns));
  CHECK(times.stopped(0));
  CHECK(times.next_ns() == ChannelTimes::kNever);
}

TEST_CASE("peach2: controllers stop one after the other") {
  ChannelTimes times({});
  const ChannelTimes::Piece piece{4096, 4096};
  for (unsigned i = 0; i < 4; ++i) times.start(i, {&piece, 1}, 0);
  double completed = 0;
  double stopped = 0;
  while (const auto step = times.advance(1e9)) {
    if (step->what == Step::What::completed) completed = step->time_ns;
    if (step->what == Step::What::stopped) stopped = step->time_ns;
  }
  CHECK(stopped >= completed + Peach2Model().stop_ns);
  CHECK(stopped <= completed + 4 * Peach2Model().stop_ns);
}

TEST_CASE("peach2: time goes no further than it may and a stalled channel waits") {
  ChannelTimes times({});
  const ChannelTimes::Piece piece{1 << 16, 1 << 16};
  times.start(0, {&piece, 1}, 0);
  CHECK_FALSE(times.advance(5'000));
  times.stall(0, true);
  CHECK(times.next_ns() == ChannelTimes::kNever);
  CHECK_FALSE(times.advance(1e9));
  times.stall(0, false);
  const double next = times.next_ns();
  CHECK(next > 1e9);
  const auto step = times.advance(2e9);
  REQUIRE(step);
  CHECK(step->what == Step::What::completed);
  times.abort(0);
  CHECK(times.stopped(0));
}

}  // namespace peach2_model_test
