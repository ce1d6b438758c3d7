// Diagnostics: a rank that crashes says how and where, and a rank that hangs says what its coroutines await.
#pragma once

#include <memory>

#include "runtime/core/event_loop.hpp"
#include "runtime/core/signal_text.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

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
    friend class Diagnostics;
    int rank_;
    RankBlock* block_;
    EventLoop& loop_;
    Thread* thread_ = nullptr;  // null where no Diagnostics lives
    Registration* next_ = nullptr;
    const RankReporter* reporter_ = nullptr;
  };

 private:
  struct State;
  struct Handlers;
  std::unique_ptr<State> state_;
};

}  // namespace coracle::internals
