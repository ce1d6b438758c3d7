// FairLock: a lock that goes to those who want it in the order in which they have come, so that one who gives it away
// for a moment lets others in.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

namespace coracle::mpi {

/// Taken and given by an atomic operation each while nobody else wants it; others sleep.
class FairLock {
 public:
  FairLock() = default;
  FairLock(const FairLock&) = delete;
  FairLock& operator=(const FairLock&) = delete;

  void take() {
    std::uint32_t free = kFree;
    // acquire: pairs with give() of the last holder.
    if (!state_.compare_exchange_strong(free, kTaken, std::memory_order_acquire, std::memory_order_relaxed))
        [[unlikely]]
      wait();
  }
  void give() noexcept {
    std::uint32_t taken = kTaken;
    // release: pairs with take() of the next holder.
    if (!state_.compare_exchange_strong(taken, kFree, std::memory_order_release, std::memory_order_relaxed))
        [[unlikely]]
      hand_over();
  }
  /// Of the holder: whether somebody waits for it.
  bool is_wanted() const noexcept { return state_.load(std::memory_order_relaxed) == kWanted; }

 private:
  enum : std::uint32_t { kFree, kTaken, kWanted };
  /// One that waits, on its own stack.
  struct Place {
    std::condition_variable turn;
    bool has_it = false;
  };
  void wait();
  void hand_over() noexcept;

  std::atomic<std::uint32_t> state_{kFree};  // kWanted: taken, and waiting_ is not empty
  std::mutex mutex_;                         // of what follows, and of changes to kWanted and from it
  std::deque<Place*> waiting_;
};

}  // namespace coracle::mpi
