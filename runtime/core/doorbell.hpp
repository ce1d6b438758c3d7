// Doorbell: how one rank wakes another: one store, and one system call only when the other really sleeps; and
// LoopEventFd, its descriptor.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace coracle::internals {

/// Lies in memory that all ranks of a node share. Its owner sleeps on it; anyone may ring it.
///
/// The race between "about to sleep" and "about to ring" is Dekker's: the ringer first publishes its data (a seq_cst
/// store or read-modify-write) and then loads `state`; the owner first stores `state` (seq_cst) and then looks for data
/// once more. One of them sees the other.
struct alignas(64) Doorbell {
  enum : std::uint32_t { kAwake = 0, kOnFutex = 1, kOnEventFd = 2 };

  std::atomic<std::uint32_t> state{kAwake};
  /// Readable when rung while kOnEventFd; valid under this number in every rank of the node. -1: none.
  std::int32_t event_fd = -1;

  /// Wakes the owner if it sleeps. Call after the data has been published by a seq_cst operation. Any thread or rank.
  void ring() noexcept {
    // seq_cst: pairs with the owner's store in announce(); see the struct's comment.
    if (state.load(std::memory_order_seq_cst) != kAwake) [[unlikely]]
      wake();
  }

  /// Owner: says that it is about to sleep. It must then look for work once more, and sleep or withdraw.
  void announce(std::uint32_t how) noexcept { state.store(how, std::memory_order_seq_cst); }
  /// Owner: it is awake.
  void withdraw() noexcept {
    state.store(kAwake, std::memory_order_relaxed);
  }  // later rings may cost a needless wake-up
  /// Owner: sleeps on the futex until rung or until `timeout_ns` has passed. Returns at once if it was rung already.
  void sleep_on_futex(std::optional<std::uint64_t> timeout_ns) noexcept;

 private:
  void wake() noexcept;
};

/// The descriptor by which a doorbell wakes a loop that sleeps in its I/O back end.
///
/// Uses the doorbell's event_fd, or makes one and stores it there; then it also closes it, so that nobody may be in the
/// middle of ring() when this ends.
class LoopEventFd {
 public:
  explicit LoopEventFd(Doorbell& doorbell);
  ~LoopEventFd();
  LoopEventFd(const LoopEventFd&) = delete;
  LoopEventFd& operator=(const LoopEventFd&) = delete;

  int fd() const noexcept { return fd_; }
  /// Takes all rings so far; the descriptor is not readable then.
  void drain() noexcept;

 private:
  Doorbell& doorbell_;
  bool own_;
  int fd_;
};

}  // namespace coracle::internals
