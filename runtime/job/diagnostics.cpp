// The signal handlers, and the list of ranks that they report on.
#include "runtime/job/diagnostics.hpp"

#include <cxxabi.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <limits>
#include <typeinfo>

#include "runtime/core/assert.hpp"
#include "runtime/job/failure_record.hpp"
#include "runtime/job/running_coroutine.hpp"
#include "runtime/job/wait_report.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kReportBytes = 16 << 10;

pid_t this_thread() noexcept {
  return static_cast<pid_t>(::syscall(SYS_gettid));
}

/// Handlers must not run in a thread while it changes what they read.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t report;
    ::sigemptyset(&report);
    ::sigaddset(&report, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &report, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// A lock for handlers: held for some instructions only, and never where a handler can interrupt its holder, except by
/// a crash; so that a crash gives up after a while rather than wait for ever.
class HandlerLock {
 public:
  explicit HandlerLock(std::atomic<bool>& taken) noexcept : taken_(taken) {
    constexpr int kTriesMax = 10'000'000;
    // acquire: sees what the last holder (release, below) did to the list.
    for (int i = 0; i < kTriesMax && taken_.exchange(true, std::memory_order_acquire); ++i) {
    }
  }
  ~HandlerLock() { taken_.store(false, std::memory_order_release); }
  HandlerLock(const HandlerLock&) = delete;
  HandlerLock& operator=(const HandlerLock&) = delete;

 private:
  std::atomic<bool>& taken_;
};

void sleep_ms(long milliseconds) noexcept {
  const timespec time{0, milliseconds * 1'000'000};
  ::nanosleep(&time, nullptr);
}

}  // namespace

/// What runs in signal handlers.
struct Diagnostics::Handlers {
  // acquire: pairs with the release store in the constructor of Diagnostics.
  static State* state() noexcept { return State::installed.load(std::memory_order_acquire); }

  static void on_crash(int signal, siginfo_t* info, void* context) noexcept;
  static void on_report(int signal, siginfo_t* info, void* context) noexcept;
  [[noreturn]] static void on_terminate() noexcept;

  /// Whether all waits are wanted, on standard error, or only where the rank runs, in its block (kWhereOnly).
  enum class Wanted { waits, place };
  /// In the signal's value: only the thread that gets it is asked.
  static constexpr int kOfThread = std::numeric_limits<int>::min();  // no bit of kWhereOnly
  static void report_all(State& state, const void* context, Wanted wanted) noexcept;
  static void report_thread(State& state, const void* context, Wanted wanted) noexcept;
  static bool ask_thread(pid_t id, Wanted wanted) noexcept;
  static void leave_place(Registration& watch, const void* context);
  static void leave_place_of_running(const Thread& thread, const void* context);
  static void report_one(Registration& watch, SignalText& text, const void* context);
  static void report_by(const RankReporter& reporter, Registration& watch, SignalText& text, const void* context);
  static void tell_place(Registration& watch, SignalText& text, const void* context);
  static void report_many(Registration& first, Registration& running, SignalText& text, const void* context);
  static void write_crash(State& state, int signal, const siginfo_t& info, const void* context) noexcept;
};

int Diagnostics::rank_running_here() noexcept {
  State* the = Handlers::state();
  if (the == nullptr) return -1;
  const SignalsBlocked blocked;
  const HandlerLock locked(the->lock);
  const Thread* thread = the->find(this_thread());
  if (thread == nullptr && the->threads != nullptr && the->threads->next == nullptr) thread = the->threads;
  if (thread == nullptr) return -1;
  const Registration* running = thread->running.load(std::memory_order_relaxed);  // only told, not followed, elsewhere
  if (running == nullptr && thread->first == thread->last) running = thread->first;
  return running != nullptr ? running->rank_ : -1;
}

void Diagnostics::Handlers::write_crash(State& state, int signal, const siginfo_t& info, const void* context) noexcept {
  constexpr int kFramesMax = 32;
  Registration* watch = nullptr;
  bool in_loop = false;
  {
    const HandlerLock locked(state.lock);
    Thread* thread = state.find(this_thread());
    in_loop = thread != nullptr;
    if (thread == nullptr) thread = state.threads;                                   // a helper thread of some rank
    if (thread != nullptr) watch = thread->running.load(std::memory_order_relaxed);  // stored by this very thread
    if (thread != nullptr && watch == nullptr) watch = thread->first;
  }
  std::array<char, sizeof(RankBlock::crash_text)> own_text;
  const bool launched = watch != nullptr && watch->block_ != nullptr;
  SignalText text(launched ? watch->block_->crash_text.data() : own_text.data(), own_text.size());
  if (launched)
    FailureRecord::add(text, signal, state.for_others);
  else
    text.add("coracle: rank {} (pid {}) crashed: ", watch == nullptr ? 0 : watch->rank_, ::getpid());
  add_crash(text, signal, info, state.exception.data());
  if (in_loop && watch != nullptr) add_running_coroutine(text, watch->loop_, context, "");
  add_backtrace(text, context, kFramesMax);
  if (launched) {
    // release: the launcher reads the length (acquire) before the text.
    watch->block_->crash_bytes.store(static_cast<std::uint32_t>(text.size()), std::memory_order_release);
  } else {
    text.write_to(STDERR_FILENO);
  }
}

void Diagnostics::Handlers::on_crash(int signal, siginfo_t* info, void* context) noexcept {
  State* the = state();
  pid_t first_to_crash = 0;
  // relaxed: decides only which of several crashing threads describes its crash.
  if (the != nullptr &&
      the->crashing.compare_exchange_strong(first_to_crash, this_thread(), std::memory_order_relaxed)) {
    write_crash(*the, signal, *info, context);
  } else if (first_to_crash != 0 && first_to_crash != this_thread()) {
    sleep_ms(900);  // another thread is just describing its crash and will end the process
  }
  // SA_RESETHAND has restored the default action: now die of the very same signal.
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(signal, &by_default, nullptr);
  ::syscall(SYS_tgkill, ::getpid(), this_thread(), signal);
}

void Diagnostics::Handlers::on_terminate() noexcept {
  State* the = state();
  if (the != nullptr) {
    SignalText text(the->exception.data(), the->exception.size() - 1);
    if (const std::exception_ptr error = std::current_exception()) {
      the->for_others = is_for_others(error);
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& exception) {
        int status = 0;
        char* name = abi::__cxa_demangle(typeid(exception).name(), nullptr, nullptr, &status);
        text.add("{}: {}", name != nullptr ? name : typeid(exception).name(), exception.what());
        // `name` is not freed: the process ends here.
      } catch (...) {
        text.add("an object that is no std::exception");
      }
    } else {
      text.add("none: std::terminate() was called");
    }
  }
  std::abort();
}

/// One thread with so many ranks that the details of all would bury the reader.
void Diagnostics::Handlers::report_many(Registration& first, Registration& running, SignalText& text,
                                        const void* context) {
  constexpr int kDetailedRanks = 32;
  constexpr std::size_t kDetailsPerRank = 4;
  WaitGroups groups;
  int ranks = 0;
  for (Registration* watch = &first; watch != nullptr; watch = watch->next_) {
    if (ranks++ < kDetailedRanks) {
      add_wait_report(text, watch->rank_, watch->loop_, kDetailsPerRank);
      text.write_to(STDERR_FILENO);
      text.clear();
    }
    groups.count(watch->loop_);
  }
  if (ranks > 1) {
    text.add("all {} ranks of this thread:\n", ranks);
    groups.add_to(text);
  }
  text.add("rank {} has its turn\n", running.rank_);
  tell_place(running, text, context);
  text.write_to(STDERR_FILENO);
}

void Diagnostics::Handlers::report_one(Registration& watch, SignalText& text, const void* context) {
  constexpr std::size_t kDetailsMax = 64;
  if (watch.reporter_ != nullptr) return report_by(*watch.reporter_, watch, text, context);
  const std::size_t waits = add_wait_report(text, watch.rank_, watch.loop_, kDetailsMax);
  // relaxed: a hint. A rank that sleeps is explained by its waits; one that doesn't, by where it runs.
  const bool asleep = watch.loop_.doorbell().state.load(std::memory_order_relaxed) != Doorbell::kAwake;
  if (waits == 0 || !asleep) tell_place(watch, text, context);
  text.write_to(STDERR_FILENO);
}

/// By itself, or left to the launcher, which can look up source lines.
void Diagnostics::Handlers::report_by(const RankReporter& reporter, Registration& watch, SignalText& text,
                                      const void* context) {
  if (watch.block_ == nullptr) {
    reporter.report(text, watch.rank_, context);
    text.write_to(STDERR_FILENO);
    return;
  }
  SignalText left(watch.block_->crash_text.data(), watch.block_->crash_text.size());
  reporter.report(left, watch.rank_, context);
  // release: the launcher reads the length (acquire) before the text.
  watch.block_->running_bytes.store(static_cast<std::uint32_t>(left.size()), std::memory_order_release);
}

/// Where the rank is running: by itself, or left to the launcher, which can look up source lines.
void Diagnostics::Handlers::tell_place(Registration& watch, SignalText& text, const void* context) {
  constexpr int kFramesMax = 16;
  if (watch.block_ == nullptr) {
    text.add("  running at:\n");
    add_running_coroutine(text, watch.loop_, context, "  ");
    add_backtrace(text, context, kFramesMax);
    return;
  }
  text.add("  it is running\n");
  leave_place(watch, context);
}

void Diagnostics::Handlers::leave_place(Registration& watch, const void* context) {
  constexpr int kFramesMax = 16;
  SignalText place(watch.block_->crash_text.data(), watch.block_->crash_text.size());
  place.add("rank {} is running at:\n", watch.rank_);
  add_running_coroutine(place, watch.loop_, context, "");
  add_backtrace(place, context, kFramesMax);
  // release: the launcher reads the length (acquire) before the text.
  watch.block_->running_bytes.store(static_cast<std::uint32_t>(place.size()), std::memory_order_release);
}

/// Of ranks that have not answered their launcher's question, since they do not wait.
void Diagnostics::Handlers::leave_place_of_running(const Thread& thread, const void* context) {
  Registration* running = thread.running.load(std::memory_order_relaxed);  // stored by this very thread
  if (running == nullptr) running = thread.first;
  if (running->block_ == nullptr) return;
  const WaitsAnswer& waits = running->block_->waits;
  // relaxed: this thread alone answers, and a question that comes now may be asked again.
  if (waits.asked.load(std::memory_order_relaxed) != waits.answered.load(std::memory_order_relaxed))
    leave_place(*running, context);
}

void Diagnostics::Handlers::report_thread(State& state, const void* context, Wanted wanted) noexcept {
  Thread* thread = nullptr;
  {
    const HandlerLock locked(state.lock);
    thread = state.find(this_thread());
  }
  // The thread's own list needs no lock: only this thread changes it, with the signal blocked.
  if (thread != nullptr && wanted == Wanted::place) {
    leave_place_of_running(*thread, context);
  } else if (thread != nullptr) {
    std::array<char, kReportBytes> buffer;
    SignalText text(buffer.data(), buffer.size());
    Registration& first = *thread->first;
    if (first.next_ != nullptr) {
      Registration* running = thread->running.load(std::memory_order_relaxed);  // stored by this very thread
      report_many(first, running != nullptr ? *running : first, text, context);
    } else {
      report_one(first, text, context);
    }
    for (Registration* watch = &first; watch != nullptr; watch = watch->next_) {
      // release: whoever sees the count (the launcher, acquire) knows that the text has been written.
      if (watch->block_ != nullptr) watch->block_->reports.fetch_add(1, std::memory_order_release);
    }
  }
  state.reported.fetch_add(1, std::memory_order_release);  // pairs with the acquire load in report_all()
}

/// False when it has just ended.
bool Diagnostics::Handlers::ask_thread(pid_t id, Wanted wanted) noexcept {
  siginfo_t question{};
  question.si_signo = SIGUSR1;
  question.si_code = SI_QUEUE;  // SI_TKILL a thread may send to itself alone
  question.si_pid = ::getpid();
  question.si_value.sival_int = kOfThread | (wanted == Wanted::place ? kWhereOnly : 0);
  return ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), id, SIGUSR1, &question) == 0;
}

/// A signal to the process arrives in any of its threads: that one asks the others, one after another.
void Diagnostics::Handlers::report_all(State& state, const void* context, Wanted wanted) noexcept {
  std::array<pid_t, 2048> ids;
  std::size_t count = 0;
  {
    const HandlerLock locked(state.lock);
    for (Thread* thread = state.threads; thread != nullptr && count < ids.size(); thread = thread->next)
      ids[count++] = thread->id;
  }
  const pid_t self = this_thread();
  int patience_ms = 1000;
  // The newest thread is first in the list; ranks read better in their order.
  for (std::size_t i = count; i-- > 0;) {
    if (ids[i] == self) {
      report_thread(state, context, wanted);
      continue;
    }
    const std::uint32_t before = state.reported.load(std::memory_order_acquire);  // pairs with report_thread()
    if (!ask_thread(ids[i], wanted)) continue;
    for (; patience_ms > 0 && state.reported.load(std::memory_order_acquire) == before; --patience_ms) sleep_ms(1);
  }
}

void Diagnostics::Handlers::on_report(int, siginfo_t* info, void* context) noexcept {
  const int error = errno;
  if (State* the = state()) {
    const int question = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
    const bool asked_by_another_thread = (question & kOfThread) != 0 && info->si_pid == ::getpid();
    const Wanted wanted = (question & ~kOfThread) == kWhereOnly ? Wanted::place : Wanted::waits;
    if (asked_by_another_thread) {
      report_thread(*the, context, wanted);
    } else {
      report_all(*the, context, wanted);
    }
  }
  errno = error;
}

Diagnostics::Diagnostics() : state_(std::make_unique<State>()) {
  State* none = nullptr;
  // release: publishes the state to the handlers (acquire in Handlers::state).
  const bool alone = State::installed.compare_exchange_strong(none, state_.get(), std::memory_order_release,
                                                              std::memory_order_relaxed);
  CORACLE_ASSERT(alone, "a second Diagnostics in one process: make one, and a Registration per rank");
  prepare_backtraces();
  name_rank_in_assertions(&rank_running_here);
  struct sigaction action {};
  ::sigemptyset(&action.sa_mask);
  action.sa_sigaction = &Handlers::on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < State::kCrashSignals.size(); ++i) {
    ::sigaction(State::kCrashSignals[i], nullptr, &state_->before[i]);
    if (state_->before[i].sa_handler == SIG_DFL) ::sigaction(State::kCrashSignals[i], &action, nullptr);
  }
  action.sa_sigaction = &Handlers::on_report;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigaction(SIGUSR1, &action, &state_->before_report);
  state_->before_terminate = std::set_terminate(&Handlers::on_terminate);
}

Diagnostics::~Diagnostics() {
  std::set_terminate(state_->before_terminate);
  if (state_->before_report.sa_handler == SIG_DFL) state_->before_report.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR1, &state_->before_report, nullptr);
  for (std::size_t i = 0; i < State::kCrashSignals.size(); ++i)
    ::sigaction(State::kCrashSignals[i], &state_->before[i], nullptr);
  State::installed.store(nullptr, std::memory_order_release);  // pairs with Handlers::state()
  CORACLE_ASSERT(state_->threads == nullptr, "a Registration outlives its Diagnostics");
}

Diagnostics::Registration::Registration(int rank, RankBlock* block, EventLoop& loop)
    : rank_(rank), block_(block), loop_(loop) {
  State* state = Handlers::state();
  if (state == nullptr) return;
  const SignalsBlocked blocked;
  const pid_t id = this_thread();
  Thread* thread = nullptr;
  {
    const HandlerLock locked(state->lock);
    thread = state->find(id);
  }
  if (thread == nullptr) {
    thread = new Thread{id};
    thread->use_own_stack();
    thread->first = thread->last = this;
    const HandlerLock locked(state->lock);
    thread->next = state->threads;
    state->threads = thread;
  } else {
    thread->last->next_ = this;
    thread->last = this;
  }
  thread_ = thread;
}

void Diagnostics::Registration::mark_running() noexcept {
  if (thread_ != nullptr) thread_->running.store(this, std::memory_order_relaxed);  // read in this thread's handlers
}

Diagnostics::Registration::~Registration() {
  State* state = Handlers::state();
  if (state == nullptr) return;
  const SignalsBlocked blocked;
  Thread* thread = nullptr;
  {
    const HandlerLock locked(state->lock);
    thread = state->find(this_thread());
    CORACLE_ASSERT(thread != nullptr, "the watch of rank {} ends in another thread than it began in", rank_);
    Registration** link = &thread->first;
    Registration* previous = nullptr;
    while (*link != this) {
      previous = *link;
      link = &previous->next_;
    }
    *link = next_;
    if (thread->running.load(std::memory_order_relaxed) == this)
      thread->running.store(nullptr, std::memory_order_relaxed);
    if (thread->last == this) thread->last = previous;
    if (thread->first != nullptr) return;
    Thread** place = &state->threads;
    while (*place != thread) place = &(*place)->next;
    *place = thread->next;
  }
  thread->drop_own_stack();
  delete thread;
}

}  // namespace coracle::internals
