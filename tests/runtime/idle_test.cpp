// What a loop does that has nothing to do: when it sleeps, and what tools are told of it.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/events.hpp"

namespace idle_test {

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kForEver = 4'000'000'000;

Task<> wait_for(std::chrono::nanoseconds duration) {
  co_await sleep_for(duration);
}

/// Begins and ends of idle times, as a tool is told of them.
std::vector<std::uint16_t> told_idle(const IdlePolicy& policy) {
  std::vector<std::uint16_t> kinds;
  coracle_tool tool{};
  tool.version = CORACLE_TOOL_VERSION;
  tool.self = &kinds;
  tool.event = [](void* self, const coracle_event* event) {
    if (event->kind == CORACLE_SLEEP_BEGIN || event->kind == CORACLE_SLEEP_END)
      static_cast<std::vector<std::uint16_t>*>(self)->push_back(event->kind);
  };
  Events events(tool, nullptr, false);
  EventLoop loop;
  loop.set_events(&events);
  loop.set_idle_policy(policy);
  for (int wait = 0; wait < 3; ++wait) loop.run(wait_for(10ms));
  return kinds;
}

}  // namespace

// On a busy machine a yield may last for longer than a wait.
TEST_CASE("loop: sleeps when it has lingered for long enough, and does not linger where it may not spin") {
  for (const IdlePolicy& policy :
       {IdlePolicy{.spins = 1, .yields = 0, .lingers = 20}, IdlePolicy{.spins = 0, .yields = 0, .lingers = kForEver}}) {
    EventLoop loop;
    loop.set_idle_policy(policy);
    for (int wait = 0; wait < 20 && loop.sleep_count() == 0; ++wait) loop.run(wait_for(50ms));
    CHECK(loop.sleep_count() > 0);
  }
}

TEST_CASE("loop: tools are told once that it is idle, and once that it is no longer, asleep or not") {
  for (const IdlePolicy& policy :
       {IdlePolicy{.spins = 1, .yields = 1, .lingers = 20}, IdlePolicy{.spins = 1, .yields = 1, .lingers = kForEver},
        IdlePolicy{.spins = 0, .yields = 0, .lingers = 0}}) {
    const std::vector<std::uint16_t> kinds = told_idle(policy);
    CHECK(kinds.size() >= 2);
    CHECK(kinds.size() % 2 == 0);
    for (std::size_t i = 0; i < kinds.size(); ++i)
      CHECK(kinds[i] == (i % 2 == 0 ? CORACLE_SLEEP_BEGIN : CORACLE_SLEEP_END));
  }
}

}  // namespace idle_test
