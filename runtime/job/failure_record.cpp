// "when NANOSECONDS SIGNAL OTHERS", a line; and describing a crash from inside the signal handler.
#include "runtime/job/failure_record.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

constexpr std::string_view kBegin = "when ";

std::uint64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// A number and the blank or newline after it, taken from the front of `text`.
template <class Number>
bool take(std::string_view& text, Number& number) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto used = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || used == text.size()) return false;
  text.remove_prefix(used + 1);
  return true;
}

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

/// Why the kernel has sent a signal that comes with an address.
struct Reason {
  int signal;
  int code;  // 0: any other
  const char* text;
};
constexpr Reason kReasons[] = {
    {SIGSEGV, SEGV_MAPERR, "not mapped"},
    {SIGSEGV, SEGV_ACCERR, "no permission for this access"},
    {SIGSEGV, 0, "bad memory access"},
    {SIGBUS, BUS_ADRALN, "misaligned"},
    {SIGBUS, BUS_ADRERR, "no memory behind it: a file that was cut, or shared memory that ran out"},
    {SIGBUS, 0, "hardware memory error"},
    {SIGFPE, FPE_INTDIV, "integer division by zero"},
    {SIGFPE, FPE_INTOVF, "integer overflow"},
    {SIGFPE, FPE_FLTDIV, "floating-point division by zero"},
    {SIGFPE, 0, "floating-point exception"},
    {SIGILL, 0, "illegal instruction"},
};

/// Null: of another signal.
const char* reason_of(int signal, int code) noexcept {
  for (const Reason& reason : kReasons)
    if (reason.signal == signal && (reason.code == code || reason.code == 0)) return reason.text;
  return nullptr;
}

constexpr std::pair<int, const char*> kSignalNames[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"},   {SIGABRT, "SIGABRT"},
    {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGHUP, "SIGHUP"},   {SIGQUIT, "SIGQUIT"},
    {SIGPIPE, "SIGPIPE"}, {SIGTRAP, "SIGTRAP"}, {SIGSYS, "SIGSYS"}, {SIGXCPU, "SIGXCPU"},
};

}  // namespace

bool is_for_others(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.code() == Errc::peer_lost || error.code() == Errc::given_up || error.code() == Errc::page_lost;
  } catch (...) {
    return false;
  }
}

void FailureRecord::add(SignalText& text, int signal, bool for_others) noexcept {
  text.add("{}{} {} {}\n", kBegin, now_ns(), signal, for_others ? 1 : 0);
}

FailureRecord FailureRecord::parse(std::string_view text) noexcept {
  if (text.substr(0, kBegin.size()) != kBegin) return {};
  text.remove_prefix(kBegin.size());
  FailureRecord words;
  int others = 0;
  if (!take(text, words.when_ns) || !take(text, words.signal) || !take(text, others)) return {};
  words.for_others = others != 0;
  words.crash = text;
  return words;
}

bool FailureRecord::outweigh(const FailureRecord& other) const noexcept {
  if (when_ns == 0 || other.when_ns == 0) return when_ns != 0;
  if ((signal != 0) != (other.signal != 0)) return signal != 0;
  if (for_others != other.for_others) return !for_others;
  return when_ns < other.when_ns;
}

void leave_failure_record(RankBlock& block, const std::exception_ptr& failure) noexcept {
  // relaxed: written by this thread, or by the handler of a crash, after which nothing here runs.
  if (block.crash_bytes.load(std::memory_order_relaxed) != 0) return;
  SignalText text(block.crash_text.data(), block.crash_text.size());
  FailureRecord::add(text, 0, is_for_others(failure));
  // release: the launcher reads the length (acquire) before the text.
  block.crash_bytes.store(static_cast<std::uint32_t>(text.size()), std::memory_order_release);
}

const char* signal_name(int signal) noexcept {
  for (const auto& [number, name] : kSignalNames)
    if (number == signal) return name;
  return "signal";
}

void prepare_backtraces() noexcept {
  std::array<void*, 4> frames{};
  ::backtrace(frames.data(), static_cast<int>(frames.size()));
  Dl_info info{};
  ::dladdr(reinterpret_cast<const void*>(&prepare_backtraces), &info);
}

void add_frame(SignalText& text, const void* address, bool exact) noexcept {
  // A return address may already belong to the next line or function: the call is just before it.
  const auto place = reinterpret_cast<std::uintptr_t>(address) - (exact ? 0 : 1);
  Dl_info info{};
  void* module = nullptr;
  const int is_known = ::dladdr1(reinterpret_cast<const void*>(place), &info, &module, RTLD_DL_LINKMAP);
  if (is_known == 0 || info.dli_fname == nullptr || module == nullptr) {
    text.add("  at ? {:#x} ?\n", place);
    return;
  }
  // Of a program that chooses its addresses itself (no PIE) nothing is added to those in the file.
  text.add("  at {} {:#x} ", info.dli_fname, place - static_cast<const link_map*>(module)->l_addr);
  if (info.dli_sname != nullptr) {
    text.add("{}+{:#x}\n", info.dli_sname, place - reinterpret_cast<std::uintptr_t>(info.dli_saddr));
  } else {
    text.add("?\n");
  }
}

std::size_t frames_of(const void* context, std::span<void*> frames) noexcept {
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  const auto all = frames.first(static_cast<std::size_t>(count));
  // The handler's own frames come first; what it interrupted starts at the interrupted instruction.
  const auto first = std::find(all.begin(), all.end(), interrupted_at(context));
  return static_cast<std::size_t>(std::copy(first, all.end(), frames.begin()) - frames.begin());
}

void add_backtrace(SignalText& text, const void* context, int frames_max) noexcept {
  std::array<void*, 64> room{};
  const auto frames = std::span(room).first(frames_of(context, room));
  if (frames.size() < 2) {
    const void* interrupted = interrupted_at(context);
    add_frame(text, interrupted, true);
    Dl_info info{};
    const void* caller = ::dladdr(interrupted, &info) == 0 ? caller_of(context) : nullptr;
    if (caller != nullptr) add_frame(text, caller, false);
    return;
  }
  const std::size_t end = std::min(frames.size(), static_cast<std::size_t>(frames_max));
  for (std::size_t i = 0; i < end; ++i) add_frame(text, frames[i], i == 0);
  if (end < frames.size()) text.add("  at ... ({} more)\n", frames.size() - end);
}

void add_crash(SignalText& text, int signal, const siginfo_t& info, const char* exception) noexcept {
  const char* name = signal_name(signal);
  if (signal == SIGABRT && info.si_pid == ::getpid()) {
    text.add("{} (the program gave up)\n", name);
  } else if (info.si_code <= 0) {
    text.add("{} (sent by process {})\n", name, info.si_pid);
  } else if (info.si_code == SI_KERNEL) {
    text.add("{} (an address that can't exist, or a forbidden instruction)\n", name);
  } else if (const char* reason = reason_of(signal, info.si_code)) {
    text.add("{} (address {:#x}, {})\n", name, reinterpret_cast<std::uintptr_t>(info.si_addr), reason);
  } else {
    text.add("{}\n", name);
  }
  if (exception[0] != '\0') text.add("uncaught exception: {}\n", exception);
}

}  // namespace coracle::internals
