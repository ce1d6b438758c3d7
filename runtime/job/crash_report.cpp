// Describing a crash from inside the signal handler.
#include "runtime/job/crash_report.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <string.h>
#include <ucontext.h>

#include <array>
#include <cstdint>

namespace coracle::internals {
namespace {

const void* interrupted_at(const void* context) noexcept {
  const auto* machine = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(machine->uc_mcontext.pc);
#else
  (void)machine;
  return nullptr;
#endif
}

/// Who called a function at an address without code (a null function pointer), from where the stack is unwound no
/// further.
const void* caller_of(const void* context) noexcept {
#if defined(__x86_64__)
  const auto* machine = static_cast<const ucontext_t*>(context);
  return *reinterpret_cast<const void* const*>(machine->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  const auto* machine = static_cast<const ucontext_t*>(context);
  return reinterpret_cast<const void*>(machine->uc_mcontext.regs[30]);  // the link register
#else
  (void)context;
  return nullptr;
#endif
}

void add_frame(SignalText& text, const void* address, bool exact) noexcept {
  // A return address may already belong to the next line or function: the call is just before it.
  const auto place = reinterpret_cast<std::uintptr_t>(address) - (exact ? 0 : 1);
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(place), &info) == 0 || info.dli_fname == nullptr) {
    text.add("  at ? {:#x} ?\n", place);
    return;
  }
  text.add("  at {} {:#x} ", info.dli_fname, place - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
  if (info.dli_sname != nullptr) {
    text.add("{}+{:#x}\n", info.dli_sname, place - reinterpret_cast<std::uintptr_t>(info.dli_saddr));
  } else {
    text.add("?\n");
  }
}

const char* memory_reason(int code) noexcept {
  switch (code) {
    case SEGV_MAPERR:
      return "not mapped";
    case SEGV_ACCERR:
      return "no permission for this access";
    default:
      return "bad memory access";
  }
}

const char* bus_reason(int code) noexcept {
  switch (code) {
    case BUS_ADRALN:
      return "misaligned";
    case BUS_ADRERR:
      return "no memory behind it: a file that was cut, or shared memory that ran out";
    default:
      return "hardware memory error";
  }
}

const char* arithmetic_reason(int code) noexcept {
  switch (code) {
    case FPE_INTDIV:
      return "integer division by zero";
    case FPE_INTOVF:
      return "integer overflow";
    case FPE_FLTDIV:
      return "floating-point division by zero";
    default:
      return "floating-point exception";
  }
}

}  // namespace

const char* signal_name(int signal) noexcept {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGILL:
      return "SIGILL";
    case SIGFPE:
      return "SIGFPE";
    case SIGABRT:
      return "SIGABRT";
    case SIGKILL:
      return "SIGKILL";
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    case SIGQUIT:
      return "SIGQUIT";
    case SIGPIPE:
      return "SIGPIPE";
    case SIGTRAP:
      return "SIGTRAP";
    case SIGSYS:
      return "SIGSYS";
    case SIGXCPU:
      return "SIGXCPU";
    default:
      return "signal";
  }
}

void prepare_backtraces() noexcept {
  std::array<void*, 4> frames{};
  ::backtrace(frames.data(), static_cast<int>(frames.size()));
  Dl_info info{};
  ::dladdr(reinterpret_cast<const void*>(&prepare_backtraces), &info);
}

void add_backtrace(SignalText& text, const void* context, int frames_max) noexcept {
  std::array<void*, 64> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  const void* interrupted = interrupted_at(context);
  // The handler's own frames come first; what it interrupted starts at the interrupted instruction.
  int first = 0;
  while (first < count && frames[static_cast<std::size_t>(first)] != interrupted) ++first;
  if (first >= count - 1) {
    add_frame(text, interrupted, true);
    Dl_info info{};
    const void* caller = ::dladdr(interrupted, &info) == 0 ? caller_of(context) : nullptr;
    if (caller != nullptr) add_frame(text, caller, false);
    return;
  }
  const int end = count - first > frames_max ? first + frames_max : count;
  for (int i = first; i < end; ++i) add_frame(text, frames[static_cast<std::size_t>(i)], i == first);
  if (end < count) text.add("  at ... ({} more)\n", count - end);
}

void add_crash(SignalText& text, int signal, const siginfo_t& info, const void* context,
               const char* exception) noexcept {
  const char* name = signal_name(signal);
  const bool has_address = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
  if (signal == SIGABRT && info.si_pid == ::getpid()) {
    text.add("{} (the program gave up)\n", name);
  } else if (info.si_code <= 0) {
    text.add("{} (sent by process {})\n", name, info.si_pid);
  } else if (info.si_code == SI_KERNEL) {
    text.add("{} (an address that can't exist, or a forbidden instruction)\n", name);
  } else if (has_address) {
    const char* reason = signal == SIGSEGV  ? memory_reason(info.si_code)
                         : signal == SIGBUS ? bus_reason(info.si_code)
                         : signal == SIGFPE ? arithmetic_reason(info.si_code)
                                            : "illegal instruction";
    text.add("{} (address {:#x}, {})\n", name, reinterpret_cast<std::uintptr_t>(info.si_addr), reason);
  } else {
    text.add("{}\n", name);
  }
  if (exception[0] != '\0') text.add("uncaught exception: {}\n", exception);
  constexpr int kFramesMax = 32;
  add_backtrace(text, context, kFramesMax);
}

}  // namespace coracle::internals
