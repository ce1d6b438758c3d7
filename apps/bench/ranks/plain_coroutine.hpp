// The least that a coroutine can be: a frame from malloc and no knowledge of anything. The limit for Task.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <vector>

namespace coracle::internals::bench {

struct PlainCoroutine {
  struct promise_type {
    static void* operator new(std::size_t bytes) {
      last_frame_bytes = bytes;
      if (void* memory = std::malloc(bytes)) return memory;
      throw std::bad_alloc();
    }
    static void operator delete(void* memory) noexcept { std::free(memory); }
    PlainCoroutine get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
    static inline thread_local std::size_t last_frame_bytes = 0;
  };
  std::coroutine_handle<promise_type> handle;
};

/// `co_await Queued{queue};` puts the coroutine into a plain array of handles.
struct Queued {
  std::vector<std::coroutine_handle<>>& queue;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> self) const { queue.push_back(self); }
  void await_resume() const noexcept {}
};

}  // namespace coracle::internals::bench
