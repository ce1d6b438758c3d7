// LauncherLoop: the event loop of a launcher's process, and the signals that come to it.
#pragma once

#include <signal.h>

#include <array>
#include <functional>

#include "runtime/core/event_loop.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace coracle::internals {

class Guardian;

/// True for those of the signals below by which someone wants a launcher to end. The others (a child has ended, a
/// report is wanted, Ctrl-Z) end nothing.
bool asks_to_end(int signal) noexcept;

/// On epoll and without threads, since its process starts others that share or inherit what it has; all its descriptors
/// are close-on-exec. It never spins: the processors are the ranks'.
///
/// While it lives, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP and SIGUSR1 do nothing but be noted here; one
/// that was ignored before (nohup, a shell's background job) stays ignored. Handlers, not a blocked mask with signalfd:
/// children would inherit the mask. One at a time per process.
class LauncherLoop {
 public:
  /// Throws Error where there are no descriptors left.
  LauncherLoop();
  ~LauncherLoop();
  LauncherLoop(const LauncherLoop&) = delete;
  LauncherLoop& operator=(const LauncherLoop&) = delete;

  Io& io() { return loop_.io(); }
  Task<> readable(int fd);
  /// A signal that has come and has not been returned yet, or that comes. For one coroutine at a time.
  Task<int> signal();
  /// Until a signal asks this launcher to end, while it has no ranks (Supervisor); children are the guardian.
  Task<> asked_to_end(Guardian& guardian);

  /// Turns until `body(services)` has finished, and with it what it has spawned there; rethrows its error.
  int run(const std::function<Task<int>(Scope& services)>& body);

 private:
  int noted_signal() const noexcept;

  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGTSTP, SIGCHLD};
  std::array<struct sigaction, kSignals.size()> before_{};
  FileDescriptor wake_fd_;  // readable when a signal has come
  EventLoop loop_;
};

}  // namespace coracle::internals
