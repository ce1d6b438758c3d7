// Flag: a number in memory that the ranks of a node share, for which any of them may wait. Unlike a Signal, which wakes
// its one owner, a flag may have many waiters, and it costs its raiser nothing to have none.
#pragma once

#include <atomic>
#include <cstdint>

namespace coracle::internals {

/// Zero bytes are its initial state. The value only grows.
///
/// The race between "about to sleep" and "about to raise" is Dekker's, as in Doorbell: the raiser stores the value
/// (seq_cst) and then loads `sleepers`; a waiter sets its bit there (seq_cst) and then looks at the value once more. A
/// seq_cst store waits until its cache line is here; where every rank has a core of its own, the waiters' FenceOfAll
/// takes its place (FlagWaits::fence_before_sleep), and raise_lightly() leaves the store to the processor's buffer.
struct Flag {
  std::atomic<std::uint64_t> value{0};
  /// A bit for each waiter that sleeps; which rank a bit stands for, the flag's users agree upon.
  std::atomic<std::uint64_t> sleepers{0};

  /// Gives the bits of those whom the caller must wake now. seq_cst: see above; and the waiters' loads in reached() see
  /// all that was written before.
  std::uint64_t raise(std::uint64_t to) noexcept {
    value.store(to, std::memory_order_seq_cst);
    return take_sleepers();
  }
  /// As raise, where all waiters pass a FenceOfAll between setting their bits and looking again.
  std::uint64_t raise_lightly(std::uint64_t to) noexcept {
    value.store(to, std::memory_order_release);           // pairs with reached()
    std::atomic_signal_fence(std::memory_order_seq_cst);  // for the compiler; the processor obeys the waiter's fence
    if (sleepers.load(std::memory_order_relaxed) == 0) [[likely]]
      return 0;
    return sleepers.exchange(0, std::memory_order_seq_cst);
  }
  /// As raise, for a flag that several ranks raise: the greatest wins.
  std::uint64_t raise_to_at_least(std::uint64_t to) noexcept {
    std::uint64_t now = value.load(std::memory_order_relaxed);  // the exchange decides
    while (now < to && !value.compare_exchange_weak(now, to, std::memory_order_seq_cst, std::memory_order_relaxed)) {
    }
    return take_sleepers();
  }
  bool reached(std::uint64_t at_least) const noexcept {
    return value.load(std::memory_order_seq_cst) >= at_least;  // pairs with raise()
  }

 private:
  std::uint64_t take_sleepers() noexcept {
    if (sleepers.load(std::memory_order_seq_cst) == 0) [[likely]]
      return 0;
    return sleepers.exchange(0, std::memory_order_seq_cst);  // of many raisers one wakes them
  }
};

}  // namespace coracle::internals
