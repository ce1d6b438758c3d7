// FailureRecord: what a rank that ends early leaves for its launcher in RankBlock::crash_text: one line that says when
// and why, then, for a crash, its description: signal, address, exception and backtrace.
#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

#include "runtime/core/signal_text.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

struct FailureRecord {
  /// By the machine's monotonic clock, which its processes share; 0: it has left no words. Of two ranks that fail the
  /// earlier is the cause, in whatever order their ends become known.
  std::uint64_t when_ns = 0;
  std::uint32_t rank = 0;   ///< Whose they are; for the reader's use.
  int signal = 0;           ///< Of a crash; 0: it ends by an exception.
  bool for_others = false;  ///< It fails because another rank has: it can't be the cause.
  std::string_view crash;   ///< Its description (add_crash).

  /// True where these are likelier to tell why a process of both ranks has ended.
  bool outweigh(const FailureRecord& other) const noexcept;

  /// Of text that add() has begun; no words for any other.
  static FailureRecord parse(std::string_view text) noexcept;
  /// The first line. Async-signal-safe.
  static void add(SignalText& text, int signal, bool for_others) noexcept;
};

/// A lost peer, a collective that others have given up, a page that went with its node.
bool is_for_others(const std::exception_ptr& failure) noexcept;

/// To be called in the rank by whoever is about to end it because of `failure`, before anything of the rank ends that
/// its peers may notice. The first words stay.
void leave_failure_record(RankBlock& block, const std::exception_ptr& failure) noexcept;

/// Makes the later calls safe in a signal handler: the first backtrace() loads a library and allocates.
void prepare_backtraces() noexcept;

/// The return addresses of the interrupted code, `context`, the innermost first; the first is the interrupted
/// instruction itself. Gives how many there are; 0 where the stack can't be unwound. Async-signal-safe.
std::size_t frames_of(const void* context, std::span<void*> frames) noexcept;

/// Appends the line of one frame: "  at MODULE 0xOFFSET SYMBOL+0xOFFSET"; `exact`: `address` is that of an instruction,
/// not of a return. Async-signal-safe.
void add_frame(SignalText& text, const void* address, bool exact) noexcept;

/// Appends one line per frame, the innermost first: "  at MODULE 0xOFFSET SYMBOL+0xOFFSET" (mangled; "?" when not
/// known). OFFSET is an address as addr2line wants it. `context`: the interrupted code's ucontext_t, whose frames are
/// wanted.
void add_backtrace(SignalText& text, const void* context, int frames_max) noexcept;

/// Appends "SIGSEGV (address 0x0, not mapped)", and the uncaught exception's line if there is one ("" else).
void add_crash(SignalText& text, int signal, const siginfo_t& info, const char* exception) noexcept;

/// "SIGSEGV", or "signal" for one that never ends a program by itself.
const char* signal_name(int signal) noexcept;

}  // namespace coracle::internals
