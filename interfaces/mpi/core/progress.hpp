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
  /// Of a call that has ended without a look at the loop: now and then the loop does what is there all the same, so
  /// that whoever calls nothing else does not stand still for others.
  void note_quick_call() {
    constexpr std::uint32_t kBetweenTurns = 64;
    if (++quick_calls_ % kBetweenTurns == 0) [[unlikely]]
      loop_.turn();
  }
  /// Lets the loop do what is there, once: for functions that look and don't wait. Where cores are shared a process
  /// that looks again and again gives its core away.
  void poll();
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
  std::uint32_t quick_calls_ = 0;
};

}  // namespace coracle::mpi
