// Diagnostics: a rank that crashes says how and where, and a rank that hangs says what its coroutines await.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "runtime/core/event_loop.hpp"
#include "runtime/core/signal_text.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

/// What debuggers know all this by (debugger_layout.hpp).
struct DebuggerLayout;
/// Of the module alone that it is in: a shared library's note leads to the library's own.
extern "C" [[gnu::visibility("hidden")]] const DebuggerLayout* const coracle_debugger_layout;

/// What a rank says of itself, instead of its waits, whose program calls functions and awaits nothing itself. In a
/// signal handler in the rank's own thread: no allocation, no lock.
class RankReporter {
 public:
  /// Appends a headline that names the rank, further lines, which begin with two blanks, and frames (add_frame).
  /// `context`: the interrupted code.
  virtual void report(SignalText& text, int rank, const void* context) const noexcept = 0;
  /// In no handler, while the loop waits: appends the function of an interface that the program is in, on a line, and
  /// the program's frames; nothing where there is none.
  virtual void add_call(SignalText& text) const noexcept = 0;

 protected:
  ~RankReporter() = default;
};

/// While it lives, this process
///  - describes a crash (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, also by an uncaught exception) in the crash text of
///  its
///    rank, or on standard error when there is no launcher, and then dies of that signal;
///  - answers SIGUSR1 with one report per rank on standard error, and counts it in RankBlock::reports.
/// At most one at a time; made and destroyed while no other thread makes a Registration. A signal that already has a
/// handler (a sanitizer's) keeps it. Afterwards SIGUSR1 stays ignored: one that the launcher sent a moment ago must not
/// kill.
class Diagnostics {
  struct Thread;

 public:
  Diagnostics();
  ~Diagnostics();
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  /// Goes with SIGUSR1 (sigqueue): no reports are wanted, but of ranks that have not answered their launcher's question
  /// (WaitsAnswer) where they run, in their blocks.
  static constexpr int kWhereOnly = 0x57484552;

  /// The rank that the calling thread is, or whose loop it turns just now; -1: of none, or of no rank that is watched.
  /// Of a rank with helper threads these are the rank's, too, if it is the only one of this process.
  static int rank_running_here() noexcept;

  /// Puts one rank's loop under watch. Made and destroyed in the rank's own thread, inside the life of `loop`; a thread
  /// may have any number (`sim`). Does nothing where no Diagnostics lives.
  class Registration {
   public:
    /// `block`: null without a launcher.
    Registration(int rank, RankBlock* block, EventLoop& loop);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    /// Of several loops in this thread, this is the one that is turned now: a crash is its rank's.
    void mark_running() noexcept;
    /// From now on `reporter` speaks for the rank, which must be the only one of its thread; null: its waits do again.
    void report_by(const RankReporter* reporter) noexcept { reporter_ = reporter; }

   private:
    friend struct DebuggerLayout;
    friend class Diagnostics;
    int rank_;
    RankBlock* block_;
    EventLoop& loop_;
    Thread* thread_ = nullptr;  // null where no Diagnostics lives
    Registration* next_ = nullptr;
    const RankReporter* reporter_ = nullptr;
  };

 private:
  friend struct DebuggerLayout;
  struct State;
  struct Handlers;
  std::unique_ptr<State> state_;
};

/// A thread with ranks in it.
struct Diagnostics::Thread {
  static constexpr std::size_t kStackBytes = 128 << 10;

  pid_t id;
  Registration* first = nullptr;
  Registration* last = nullptr;
  /// Of this thread's ranks the one whose loop is turned now, or null. Atomic, since a handler may interrupt the store.
  std::atomic<Registration*> running{nullptr};
  void* stack = nullptr;  // the handlers': a crash may be an overflow of the thread's own
  Thread* next = nullptr;

  void use_own_stack() noexcept {
    stack_t present{};
    ::sigaltstack(nullptr, &present);
    if ((present.ss_flags & SS_DISABLE) == 0) return;  // a sanitizer's
    void* memory = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack = memory;
    const stack_t wanted{stack, 0, kStackBytes};
    ::sigaltstack(&wanted, nullptr);
  }
  void drop_own_stack() noexcept {
    if (stack == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
    ::munmap(stack, kStackBytes);
  }
};

struct Diagnostics::State {
  static constexpr std::array kCrashSignals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

  /// A handler gets no argument of ours, so that this one pointer must be static: set while a Diagnostics lives.
  static inline std::atomic<State*> installed{nullptr};

  /// So that it is linked into every program that has ranks.
  const DebuggerLayout* const* layout = &coracle_debugger_layout;
  std::atomic<bool> lock{false};
  Thread* threads = nullptr;
  /// Threads that have reported; a handler that asks others to report waits for it to move.
  std::atomic<std::uint32_t> reported{0};
  std::atomic<pid_t> crashing{0};
  std::array<char, 512> exception{};
  bool for_others = false;  // what the exception tells of is another rank's failure
  std::array<struct sigaction, kCrashSignals.size()> before{};
  struct sigaction before_report {};
  std::terminate_handler before_terminate = nullptr;

  Thread* find(pid_t id) noexcept {
    Thread* thread = threads;
    while (thread != nullptr && thread->id != id) thread = thread->next;
    return thread;
  }
};

}  // namespace coracle::internals
