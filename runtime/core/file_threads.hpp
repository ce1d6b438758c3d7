// FileThreads: reads, writes and syncs of files where io_uring is refused. The kernel has no other way to await a file
// than to let a thread block.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

#include "runtime/core/io.hpp"

namespace coracle::internals {

/// Performs a request by a blocking system call: bytes, or minus errno.
std::int64_t perform_blocking(const IoRequest& request) noexcept;

/// At most four threads, made when needed. The owner's thread calls; a finished request rings the owner's doorbell.
class FileThreads {
 public:
  explicit FileThreads(Doorbell& doorbell) noexcept : doorbell_(doorbell) {}
  /// No request may be under way.
  ~FileThreads();
  FileThreads(const FileThreads&) = delete;
  FileThreads& operator=(const FileThreads&) = delete;

  void submit(IoRequest& request) noexcept;
  /// Takes a request back that no thread has begun; false when one has: then it will finish.
  bool withdraw(IoRequest& request) noexcept;
  /// All that have finished since the last call, oldest first, linked by note().next; outcome in note().result.
  IoRequest* take_finished() noexcept;

 private:
  static constexpr std::size_t kThreadsMax = 4;

  bool add_thread() noexcept;
  void serve() noexcept;
  void perform(IoRequest& request) noexcept;

  Doorbell& doorbell_;
  std::mutex mutex_;
  std::condition_variable work_;
  IoList queue_;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::size_t thread_count_ = 0;  // owner's thread only, as the next
  std::array<std::thread, kThreadsMax> threads_;
  std::atomic<IoRequest*> finished_{nullptr};
};

}  // namespace coracle::internals
