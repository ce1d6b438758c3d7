// HelperThreads: functions that may block for long, or touch what the loop must not touch, run beside the loop and are
// awaited by it.
#pragma once

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/core/event_loop.hpp"
#include "runtime/core/scope.hpp"

namespace coracle::internals::storage {

/// Made, used and ended by the loop's thread.
class HelperThreads final : private Poller {
 public:
  /// `one_core`: while any run, the loop's thread and they stay on the core where that is.
  explicit HelperThreads(EventLoop& loop, bool one_core = false);
  /// Nothing may be running.
  ~HelperThreads() override;
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;

  class Run;
  /// `co_await threads.run(function, context);` calls function(context), which must not throw, on a thread of its own
  /// as long as it lasts: functions may wait for each other. Throws Error when the system gives no thread; cancellation
  /// does not end it.
  Run run(void (*function)(void*), void* context) noexcept;
  std::size_t running() const noexcept { return running_; }

 private:
  bool poll() noexcept override;
  bool submit(Run& run) noexcept;
  bool add_thread() noexcept;
  void serve() noexcept;
  void gather() noexcept;
  void part() noexcept;

  EventLoop& loop_;
  const bool one_core_;
  std::size_t running_ = 0;  // loop's thread only, as the next ones
  std::vector<std::thread> threads_;
  cpu_set_t usual_cores_{};  // of the loop's thread, while it is kept on one
  bool gathered_ = false;
  std::mutex mutex_;
  std::condition_variable work_;
  Run* queue_ = nullptr;  // newest first
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::atomic<Run*> finished_{nullptr};
};

class [[nodiscard]] HelperThreads::Run final : public Waiter {
 public:
  Run(HelperThreads& threads, void (*function)(void*), void* context) noexcept
      : Waiter("helper thread"), threads_(threads), function_(function), context_(context) {}
  WaitDetail detail() const noexcept override { return {WaitKind::device}; }
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    suspend(self, false);
    if (!threads_.submit(*this)) complete(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  void await_resume() const { throw_if_failed(); }

 private:
  friend class HelperThreads;
  HelperThreads& threads_;
  void (*function_)(void*);
  void* context_;
  Run* next_ = nullptr;
};

inline HelperThreads::Run HelperThreads::run(void (*function)(void*), void* context) noexcept {
  return {*this, function, context};
}

}  // namespace coracle::internals::storage
