// The loop of a scope, whole.
#pragma once

#include "runtime/core/event_loop.hpp"
#include "runtime/core/scope.hpp"

namespace coracle::internals::test {

/// A scope knows its loop as a Scheduler; in tests each is an EventLoop.
inline EventLoop& loop_of(Scope& scope) noexcept {
  return static_cast<EventLoop&>(scope.loop());
}

}  // namespace coracle::internals::test
