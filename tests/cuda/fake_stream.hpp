// FakeStream: a stream as a thread with a queue of what it has to do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/cuda/fake_machine.hpp"

namespace coracle::internals::test {

/// A device as one process sees it: after an error, nothing works on it any more.
struct FakeContext {
  std::atomic<Status> error{cuda::kSuccess};
  std::mutex mutex;  ///< Guards the step from a fault taken to the error.

  /// Whether this work fails: by one of the machine's `faults`, or since work of another stream has. What asks after
  /// the one that took the fault fails, too.
  bool fails(FakeMachine& machine, unsigned FakeFaults::*faults);
};

/// A copy between addresses that the stream's thread may use.
struct FakeCopies {
  std::vector<cuda::Box> boxes;
  std::atomic<unsigned> in_flight{0};
};

struct FakeEvent {
  std::atomic<std::uint64_t> time_ns{0};
};

struct FakeWork {
  enum class What : std::uint8_t { copy, graph, word, host, event, kernel };
  What what = What::copy;
  cuda::Box box;
  FakeCopies* graph = nullptr;
  std::uint64_t* word = nullptr;
  std::uint64_t value = 0;
  void (*function)(void*) = nullptr;
  void* data = nullptr;
  FakeEvent* event = nullptr;
  std::shared_ptr<const std::function<void()>> kernel{};
};

class FakeStream {
 public:
  FakeStream(FakeMachine& machine, FakeContext& context, int device);
  /// What has not been done by then never is.
  ~FakeStream();
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  int device() const noexcept { return device_; }
  /// Allocates nothing. False: the queue is full.
  bool put(const FakeWork& work) noexcept;
  bool at_rest() noexcept;
  bool stalled() noexcept;
  void resume() noexcept;

  /// Whether the calling thread is in a function that a stream calls.
  static bool in_function() noexcept;

 private:
  static constexpr std::size_t kRoom = 1 << 14;

  void run();
  void carry_out(const FakeWork& work);
  void copy(const cuda::Box& box);
  void run_kernel(const std::function<void()>& kernel);
  /// Until resume(), or the end.
  void stall();

  FakeMachine& machine_;
  FakeContext& context_;
  int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<FakeWork> ring_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;  // with that under way
  bool stalled_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace coracle::internals::test
