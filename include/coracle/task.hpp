// Tasks: coroutines that are awaited, the scopes that own them, and what is awaited together, in turn, or in time.
#pragma once

#include "runtime/core/combinators.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/result.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/task.hpp"

namespace coracle {

using internals::as_result;
using internals::as_task;
using internals::EventLoop;
using internals::First;
using internals::join_quietly;
using internals::Result;
using internals::Scope;
using internals::sleep_for;
using internals::Task;
using internals::turn;
using internals::when_all;
using internals::when_any;
using internals::with_scope;
using internals::with_timeout;
using internals::yield;

}  // namespace coracle
