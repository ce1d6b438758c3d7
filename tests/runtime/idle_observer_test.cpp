// Questions to a loop that sleeps: answered at once, and then it sleeps on.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "runtime/core/combinators.hpp"
#include "runtime/core/event_loop.hpp"

namespace idle_observer_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

struct CountingPoller final : Poller {
  bool poll() noexcept override {
    ++polls;
    return false;
  }
  int polls = 0;
};

/// Has some questions asked, each of a loop that is just falling asleep.
class Questioner final : public IdleObserver {
 public:
  Questioner(EventLoop& loop, const CountingPoller& poller, int questions)
      : doorbell_(loop.doorbell()), poller_(poller), left_(questions) {}

  void falls_asleep() noexcept override {
    if (asked_) {
      most_polls_ = std::max(most_polls_, poller_.polls - polls_when_asked_);
      ++answers_;
      asked_ = false;
    }
    if (left_ == 0) return;
    --left_;
    asked_ = true;
    polls_when_asked_ = poller_.polls;
    doorbell_.ring();
  }
  bool is_asked() const noexcept override { return asked_; }

  int answers() const noexcept { return answers_; }
  int most_polls() const noexcept { return most_polls_; }

 private:
  Doorbell& doorbell_;
  const CountingPoller& poller_;
  int left_;
  bool asked_ = false;
  int polls_when_asked_ = 0;
  int answers_ = 0;
  int most_polls_ = 0;
};

}  // namespace

TEST_CASE("loop: a question costs one that sleeps two looks at its pollers, and no yields") {
  constexpr int kQuestions = 100;
  EventLoop loop;
  CountingPoller poller;
  Questioner questioner(loop, poller, kQuestions);
  loop.add_poller(poller);
  loop.set_idle_observer(&questioner);
  loop.run([]() -> Task<> { co_await sleep_for(std::chrono::milliseconds(20)); }());
  loop.set_idle_observer(nullptr);
  loop.remove_poller(poller);
  CHECK(questioner.answers() == kQuestions);
  CHECK(questioner.most_polls() == 2);  // of the turn after it, and before it falls asleep
}

}  // namespace idle_observer_test
