// LoopEventFd: the descriptor by which a doorbell wakes a loop that sleeps in its I/O back end.
#pragma once

#include "runtime/core/doorbell.hpp"

namespace coracle::internals {

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
