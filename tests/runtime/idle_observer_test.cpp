// Questions to a loop that sleeps: answered at once, and then it sleeps on.
#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/core/event.hpp"
#include "runtime/core/event_loop.hpp"

namespace idle_observer_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

constexpr int kQuestions = 100;

/// Asks questions, each while the loop is just falling asleep, and ends the wait of `all_answered`.
class Questioner final : public Poller, public IdleObserver {
 public:
  explicit Questioner(EventLoop& loop) : doorbell_(loop.doorbell()) {}

  bool poll() noexcept override {
    ++polls_;
    if (answers_ != kQuestions || all_answered.is_set()) return false;
    all_answered.set();
    return true;
  }
  void falls_asleep() noexcept override {
    if (asked_) {
      most_polls_ = std::max(most_polls_, polls_ - polls_when_asked_);
      ++answers_;
    }
    asked_ = answers_ != kQuestions;
    polls_when_asked_ = polls_;
    doorbell_.ring();
  }
  bool is_asked() const noexcept override { return asked_; }
  /// Between a question and its answer.
  int most_polls() const noexcept { return most_polls_; }

  Event all_answered;

 private:
  Doorbell& doorbell_;
  int polls_ = 0;
  bool asked_ = false;
  int polls_when_asked_ = 0;
  int answers_ = 0;
  int most_polls_ = 0;
};

Task<> wait_for(Event& event) {
  co_await event;
}

}  // namespace

TEST_CASE("loop: a question costs one that sleeps two looks at its pollers, and no yields") {
  EventLoop loop;
  Questioner questioner(loop);
  loop.add_poller(questioner);
  loop.set_idle_observer(&questioner);
  loop.run(wait_for(questioner.all_answered));
  loop.set_idle_observer(nullptr);
  loop.remove_poller(questioner);
  CHECK(questioner.most_polls() == 2);  // of the turn after it, and before it falls asleep
}

}  // namespace idle_observer_test
