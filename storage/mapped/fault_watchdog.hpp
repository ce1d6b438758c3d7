// FaultWatchdog: tells when an event loop has touched a window whose faults only it can serve, instead of a hang.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

#include "storage/mapped/userfault.hpp"

namespace coracle::internals::storage {

/// A thread that looks four times a second for faults that have not been taken for as long. One of the loop's own
/// thread is explained on standard error and answered by SIGBUS, which that thread gets where it waits; the others are
/// reported again.
class FaultWatchdog {
 public:
  /// Made by the loop's thread. Throws Error when the system gives no thread.
  FaultWatchdog(Userfault& faults, std::uint32_t rank);
  ~FaultWatchdog();
  FaultWatchdog(const FaultWatchdog&) = delete;
  FaultWatchdog& operator=(const FaultWatchdog&) = delete;

  /// The loop takes faults.
  void alive() noexcept { taken_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void watch() noexcept;
  void look_at_stuck() noexcept;

  Userfault& faults_;
  std::uint32_t rank_;
  std::uint32_t loop_thread_;
  std::atomic<std::uint64_t> taken_{0};
  std::mutex mutex_;
  std::condition_variable end_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace coracle::internals::storage
