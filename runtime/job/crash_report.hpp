// What a crashing rank writes down for its launcher: signal, address, exception and backtrace.
#pragma once

#include <signal.h>

#include "runtime/core/signal_text.hpp"

namespace coracle::internals {

/// Makes the later calls safe in a signal handler: the first backtrace() loads a library and allocates.
void prepare_backtraces() noexcept;

/// Appends one line per frame, the innermost first: "  at MODULE 0xOFFSET SYMBOL+0xOFFSET" (mangled; "?" when not
/// known). OFFSET is an address as addr2line wants it. `context`: the interrupted code's ucontext_t, whose frames are
/// wanted.
void add_backtrace(SignalText& text, const void* context, int frames_max) noexcept;

/// Appends "SIGSEGV (address 0x0, not mapped)", the uncaught exception's line if there is one ("" else), and
/// the backtrace.
void add_crash(SignalText& text, int signal, const siginfo_t& info, const void* context,
               const char* exception) noexcept;

/// "SIGSEGV", or "signal" for one that never ends a program by itself.
const char* signal_name(int signal) noexcept;

}  // namespace coracle::internals
