// Which coroutine a loop was running when a signal came: the chain of callers in reports of crashes.
#pragma once

#include "runtime/core/event_loop.hpp"
#include "runtime/core/signal_text.hpp"

namespace coracle::internals {

/// Appends a line, `before` and "in solve.cpp:40 <- main.cpp:12 <- main task": where the coroutine that runs is awaited
/// by the next outer one, and so on. Nothing where none runs. `context`: the interrupted code of the loop's own thread.
/// Async-signal-safe, and safe where memory is damaged: what can't be read is not told.
void add_running_coroutine(SignalText& text, EventLoop& loop, const void* context, const char* before) noexcept;

}  // namespace coracle::internals
