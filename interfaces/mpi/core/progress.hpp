// Progress: how functions wait, which are no coroutines: they turn the loop at the place of the call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/core/completion.hpp"
#include "runtime/core/event_loop.hpp"

namespace coracle::mpi {

/// Of one loop; its thread only.
class Progress {
 public:
  explicit Progress(internals::EventLoop& loop) noexcept : loop_(loop) {}

  /// Turns the loop, and sleeps between, until `done()`.
  template <class Predicate>
  void run_until(Predicate done) {
    loop_.run_until(done);
  }
  /// Lets the loop do what is there, once: for functions that look and don't wait. Where cores are shared a process
  /// that looks again and again gives its core away. False where there was nothing.
  bool poll();
  /// Turns the loop until `done()`, but only while there is something to do, and not for ever: for what has begun
  /// here and may need an answer from elsewhere. Doesn't wait.
  template <class Predicate>
  void settle(Predicate done) {
    constexpr int kTurnsMax = 64;
    for (int turn = 0; turn < kTurnsMax && !done() && loop_.turn(); ++turn) continue;
  }
  /// Awaits an operation or a task; gives its value or throws its error.
  template <class Awaitable>
  decltype(auto) wait(Awaitable& operation) {
    if (!operation.await_ready()) suspend(operation);
    return operation.await_resume();
  }

  // Completions are made when as many as that are needed at once, and kept.
  internals::Completion& take_completion();
  void give_completion(internals::Completion& completion) noexcept;
  /// Operations that have begun and not ended.
  std::size_t under_way() const noexcept { return completions_.size() - free_completions_.size(); }
  /// Nothing may be under way.
  void end() noexcept;

 private:
  template <class Awaitable>
  void suspend(Awaitable& operation) {
    internals::Completion& completion = take_completion();
    completion.suspend(operation);
    run_until([&completion] { return completion.done(); });
    give_completion(completion);
  }

  internals::EventLoop& loop_;
  std::vector<std::unique_ptr<internals::Completion>> completions_;
  std::vector<internals::Completion*> free_completions_;
  std::uint32_t vain_polls_ = 0;
};

}  // namespace coracle::mpi
