// Progress: how functions wait, which are no coroutines: they turn the loop at the place of the call.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "interfaces/mpi/core/call_lock.hpp"
#include "interfaces/mpi/core/call_note.hpp"
#include "interfaces/mpi/core/callers.hpp"
#include "runtime/core/completion.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/messages/message_waits.hpp"

namespace coracle::mpi {

/// What becomes of an operation that is under way when MPI_Finalize is called: a receive that nobody answers is
/// harmless, and programs leave some; of all else somebody may miss something.
enum class AtFinalize : std::uint8_t { refused, withdrawn };

/// Of one loop; its thread only, or the one that holds the lock.
class Progress final : public Shareable {
 public:
  explicit Progress(internals::EventLoop& loop)
      : loop_(loop), receives_(std::make_unique<internals::NotedWaits>(loop.root_scope(), ends_)) {}
  /// From now on several threads may call. The lock lives longer, and is this thread's just now.
  void share(CallLock& lock) noexcept;
  /// The same of a loop that one thread has turned so far.
  void share_late(CallLock& lock) override;
  bool may_be_shared() const noexcept override { return loop_.may_be_shared(); }
  void wake() noexcept override { loop_.doorbell().ring(); }

  /// Turns the loop, and sleeps between, until `done()`. Note(arguments...) tells hang reports what is awaited.
  template <class Note, class Predicate, class... Arguments>
  void run_until(Predicate done, const Arguments&... arguments) {
    during<Note>([&] { wait_until(done); }, arguments...);
  }
  /// The same around whatever waits in `action()`.
  template <class Note, class Action, class... Arguments>
  void during(Action action, const Arguments&... arguments) {
    Note note(arguments...);
    const Entered entered(*this, note);
    action();
  }
  /// Of a call that has ended without a look at the loop: now and then the loop does what is there all the same, so
  /// that whoever calls nothing else does not stand still for others.
  void note_quick_call() {
    constexpr std::uint32_t kBetweenTurns = 64;
    if (++quick_calls_ % kBetweenTurns == 0) [[unlikely]]
      turn();
  }
  /// Lets the loop do what is there, once: for functions that look and don't wait. Where cores are shared a process
  /// that looks again and again gives its core away. False where there was nothing.
  bool poll();
  /// Turns the loop until `done()`, but only while there is something to do, and not for ever: for what has begun
  /// here and may need an answer from elsewhere. Doesn't wait.
  template <class Predicate>
  void settle(Predicate done) {
    constexpr int kTurnsMax = 64;
    for (int turn = 0; turn < kTurnsMax && !done() && this->turn(); ++turn) continue;
  }
  /// Awaits an operation or a task; gives its value or throws its error. A Note is made only where it really waits.
  template <class Note, class Awaitable, class... Arguments>
  decltype(auto) wait(Awaitable& operation, const Arguments&... arguments) {
    wait_for_end<Note>(operation, arguments...);
    return operation.await_resume();
  }
  /// Waits for the end of a receive that has begun, if it had to.
  template <class Note, class... Arguments>
  void wait_for_begun(const internals::Receive& receive, const Arguments&... arguments) {
    if (!receive.is_under_way()) return;
    ++blocking_receives_;
    run_until<Note>([&receive] { return !receive.is_under_way(); }, arguments...);
    --blocking_receives_;
  }
  /// Its first half: the value, or error, is there then.
  template <class Note, class Awaitable, class... Arguments>
  void wait_for_end(Awaitable& operation, const Arguments&... arguments) {
    if (operation.await_ready()) return;
    internals::Completion& completion = begin(operation);
    run_until<Note>([&completion] { return completion.done(); }, arguments...);
    give_completion(completion);
  }
  /// The call of this thread that waits, of nested ones the innermost; null where none does. For signal handlers in the
  /// thread that has made the world.
  const CallNote* waiting() const noexcept { return lock_ == nullptr ? waiting_ : lock_->own_note(); }
  /// Null where one thread calls.
  CallLock* lock() const noexcept { return lock_; }
  /// Shows what the operations that are under way await. For signal handlers that have not interrupted this library.
  void visit(internals::WaiterVisitor& visitor) const noexcept;
  internals::EventLoop& loop() const noexcept { return loop_; }

  /// Begins an operation that has said that it is not ready. The completion is the caller's until it gives that back;
  /// where beginning throws, none is taken. Completions are made when as many as that are needed at once, and kept.
  template <class Awaitable>
  internals::Completion& begin(Awaitable& operation, AtFinalize at_finalize = AtFinalize::refused) {
    KeptCompletion& completion = take_completion();
    completion.at_finalize = at_finalize;
    try {
      completion.suspend(operation);
    } catch (...) {
      give_completion(completion);
      throw;
    }
    return completion;
  }
  void give_completion(internals::Completion& completion) noexcept;
  /// Begins a receive that has said that it is not ready. It must live until it has ended, and is withdrawn when
  /// MPI_Finalize is called.
  void begin(internals::Receive& receive) { receives_->begin(receive); }
  /// As run_until(), of a predicate that can only change when an operation of begin() ends, or note_end() is called: it
  /// is asked then, not at each turn of the loop. For those that take long, such as a look at many requests.
  template <class Note, class Predicate, class... Arguments>
  void run_until_end(Predicate done, const Arguments&... arguments) {
    if (done()) return;
    // It stays true: where several threads call, one asks first and the waiting one again.
    const auto is_done = [this, seen = ends_, is_true = false, &done]() mutable {
      if (is_true || seen == ends_) return is_true;
      seen = ends_;
      return is_true = static_cast<bool>(done());
    };
    run_until<Note>(is_done, arguments...);
  }
  /// Something has ended that is no operation of begin().
  void note_end() noexcept { ++ends_; }
  /// Completions that have not been given back.
  std::size_t taken() const noexcept { return completions_.size() - free_completions_.size(); }
  /// How much has begun, has not ended, and may not be withdrawn.
  std::size_t refused() const noexcept;
  /// Withdraws all else that has begun and has not ended.
  void withdraw();
  /// Shows what those await that may not be withdrawn.
  void visit_refused(internals::WaiterVisitor& visitor) const noexcept;
  /// Nothing may be under way.
  void end() noexcept;

 private:
  bool turn() { return lock_ == nullptr ? loop_.turn() : lock_->turn(); }

  template <class Predicate>
  void wait_until(Predicate& done) {
    while (lock_ == nullptr) [[likely]] {
      if (loop_.run_until(std::ref(done), [] { return Callers::is_wanted(); })) [[likely]]
        return;
      Callers::share_from(*this);
    }
    wait_shared({[](void* predicate) { return (*static_cast<Predicate*>(predicate))(); }, &done});
  }
  /// The same where others call, too.
  void wait_shared(CallLock::Question done);

  /// Hang reports see a note from its making to its end. Where a coroutine that the loop resumes calls a function that
  /// waits, calls nest.
  class Entered {
   public:
    Entered(Progress& progress, CallNote& note) noexcept : progress_(progress), outer_(progress.waiting_) {
      note.since_ns_ = progress.loop_.now_ns();
      std::atomic_signal_fence(std::memory_order_release);  // a report finds the note whole
      progress_.waiting_ = &note;
    }
    ~Entered() {
      progress_.waiting_ = outer_;
      std::atomic_signal_fence(std::memory_order_release);  // as above
    }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    Progress& progress_;
    const CallNote* const outer_;
  };

  struct KeptCompletion : internals::Completion {
    using Completion::Completion;
    /// Whether MPI_Finalize can't come before its end.
    bool is_refused() const noexcept { return !done() && at_finalize == AtFinalize::refused; }

    AtFinalize at_finalize = AtFinalize::refused;
  };
  KeptCompletion& take_completion();

  internals::EventLoop& loop_;
  std::uint64_t ends_ = 0;
  std::unique_ptr<internals::NotedWaits> receives_;  // until end()
  std::size_t blocking_receives_ = 0;  // that some call waits for: not to be withdrawn under another thread
  std::vector<std::unique_ptr<KeptCompletion>> completions_;
  std::vector<KeptCompletion*> free_completions_;
  std::uint32_t vain_polls_ = 0;
  const CallNote* waiting_ = nullptr;
  CallLock* lock_ = nullptr;
  std::uint32_t quick_calls_ = 0;
};

}  // namespace coracle::mpi
