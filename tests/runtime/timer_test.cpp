// The timer heap against a sorted list, for many seeds.
#include "runtime/core/timer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/event_loop.hpp"

namespace timer_test {

using namespace coracle;
using namespace coracle::internals;

namespace {
class Noting final : public Timer {
 public:
  Noting(int id, std::vector<int>& fired) : id_(id), fired_(fired) {}
  void fire() noexcept override { fired_.push_back(id_); }

 private:
  int id_;
  std::vector<int>& fired_;
};
}  // namespace

TEST_CASE("timers: fire in order of deadline and of arming, whatever was disarmed between, for 200 seeds") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    TimerQueue queue;
    std::vector<int> fired;
    std::deque<Noting> timers;
    std::vector<std::pair<std::uint64_t, int>> expected;
    for (int id = 0; id < 100; ++id) {
      timers.emplace_back(id, fired);
      const std::uint64_t deadline = random() % 50;
      queue.arm(timers.back(), deadline);
      expected.emplace_back(deadline, id);
      if (random() % 3 == 0) {
        const std::size_t victim = random() % expected.size();
        queue.disarm(timers[static_cast<std::size_t>(expected[victim].second)]);
        expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(victim));
      }
    }
    std::stable_sort(expected.begin(), expected.end(), [](auto& a, auto& b) { return a.first < b.first; });
    for (std::uint64_t now = 0; now <= 50; now += 5) queue.fire_due(now);
    REQUIRE(fired.size() == expected.size());
    for (std::size_t i = 0; i < fired.size(); ++i) CHECK(fired[i] == expected[i].second);
    CHECK(queue.empty());
  }
}

namespace {

class Setting final : public Timer {
 public:
  explicit Setting(Event& event) : event_(event) {}
  void fire() noexcept override { event_.set(); }

 private:
  Event& event_;
};

Task<> await_rough_timer(EventLoop& loop, bool busy) {
  constexpr std::uint64_t kDelayNs = 2'000'000;
  Event fired;
  Setting timer(fired);
  const std::uint64_t due_ns = loop.exact_now_ns() + kDelayNs;
  loop.rough_timers().arm(timer, due_ns);
  if (busy) {
    while (!fired.is_set()) co_await yield();
  } else {
    co_await fired;
  }
  CHECK(loop.exact_now_ns() >= due_ns);
  CHECK_FALSE(timer.armed());
}

}  // namespace

TEST_CASE("timers: rough ones fire in a loop that is idle, and in one that is busy") {
  EventLoop loop;
  for (const bool busy : {false, true}) {
    const std::uint64_t slept = loop.sleep_count();
    loop.run(await_rough_timer(loop, busy));
    if (busy) CHECK(loop.sleep_count() == slept);
  }
}

}  // namespace timer_test
