// Ready coroutines in an order drawn from a seed, and races between them: for tests of what coroutines of one loop
// share.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/signal_text.hpp"
#include "runtime/job/wait_report.hpp"

namespace coracle::internals::test {

class RandomOrder final : public ReadyOrder {
 public:
  explicit RandomOrder(std::uint64_t seed) : random_(seed) {}
  std::size_t pick(std::size_t count) noexcept override { return random_() % count; }
  std::size_t below(std::size_t limit) { return random_() % limit; }

 private:
  std::mt19937_64 random_;
};

inline Task<> turns(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) co_await yield();
}

/// True when `task` ends before so many turns of the loop have passed; else it is cancelled.
inline Task<bool> ends_within(std::size_t turns_max, Task<> task) {
  std::vector<Task<>> racers;
  racers.push_back(std::move(task));
  racers.push_back(turns(turns_max));
  const First<void> first = co_await when_any(std::move(racers));
  co_return first.index == 0;
}

/// What a hang report says of a loop.
inline std::string wait_report(EventLoop& loop) {
  char buffer[4096];
  SignalText text(buffer, sizeof buffer);
  add_wait_report(text, 0, loop, 20);
  return std::string(text.view());
}

}  // namespace coracle::internals::test
