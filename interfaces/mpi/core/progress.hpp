// Progress: how functions wait, which are no coroutines: they turn the loop at the place of the call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "interfaces/mpi/core/call_note.hpp"
#include "runtime/core/completion.hpp"
#include "runtime/core/event_loop.hpp"

namespace coracle::mpi {

/// Of one loop; its thread only.
class Progress {
 public:
  explicit Progress(internals::EventLoop& loop) noexcept : loop_(loop) {}

  /// Turns the loop, and sleeps between, until `done()`. Note(arguments...) tells hang reports what is awaited.
  template <class Note, class Predicate, class... Arguments>
  void run_until(Predicate done, const Arguments&... arguments) {
    during<Note>([&] { loop_.run_until(done); }, arguments...);
  }
  /// The same around whatever waits in `action()`.
  template <class Note, class Action, class... Arguments>
  void during(Action action, const Arguments&... arguments) {
    Note note(arguments...);
    const Entered entered(*this, note);
    action();
  }
  /// Lets the loop do what is there, once: for functions that look and don't wait. Where cores are shared a process
  /// that looks again and again gives its core away.
  void poll();
  /// Awaits an operation or a task; gives its value or throws its error. A Note is made only where it really waits.
  template <class Note, class Awaitable, class... Arguments>
  decltype(auto) wait(Awaitable& operation, const Arguments&... arguments) {
    if (!operation.await_ready()) suspend<Note>(operation, arguments...);
    return operation.await_resume();
  }
  /// The call that waits; null where none does. For signal handlers in the loop's thread.
  const CallNote* waiting() const noexcept { return waiting_; }
  /// Shows what the operations that are under way await. For signal handlers that have not interrupted this library.
  void visit(internals::WaiterVisitor& visitor) const noexcept;
  internals::EventLoop& loop() const noexcept { return loop_; }

  // Completions are made when as many as that are needed at once, and kept.
  internals::Completion& take_completion();
  void give_completion(internals::Completion& completion) noexcept;
  /// Operations that have begun and not ended.
  std::size_t under_way() const noexcept { return completions_.size() - free_completions_.size(); }
  /// Nothing may be under way.
  void end() noexcept;

 private:
  /// Hang reports see a note from its making to its end. Calls that wait do not nest.
  class Entered {
   public:
    Entered(Progress& progress, CallNote& note) noexcept : progress_(progress) {
      note.since_ns_ = progress.loop_.now_ns();
      std::atomic_signal_fence(std::memory_order_release);  // a report finds the note whole
      progress_.waiting_ = &note;
    }
    ~Entered() {
      progress_.waiting_ = nullptr;
      std::atomic_signal_fence(std::memory_order_release);  // as above
    }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    Progress& progress_;
  };

  template <class Note, class Awaitable, class... Arguments>
  void suspend(Awaitable& operation, const Arguments&... arguments) {
    internals::Completion& completion = take_completion();
    completion.suspend(operation);
    run_until<Note>([&completion] { return completion.done(); }, arguments...);
    give_completion(completion);
  }

  internals::EventLoop& loop_;
  std::vector<std::unique_ptr<internals::Completion>> completions_;
  std::vector<internals::Completion*> free_completions_;
  std::uint32_t vain_polls_ = 0;
  const CallNote* waiting_ = nullptr;
};

}  // namespace coracle::mpi
