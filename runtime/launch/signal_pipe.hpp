// SignalPipe: the signals of a launcher, to be waited for like any descriptor.
#pragma once

#include <signal.h>
#include <array>

namespace coracle::internals {

/// True for those of the signals below by which someone wants a launcher to end. The others (a child has ended, a
/// report is wanted, Ctrl-Z) end nothing.
bool asks_to_end(int signal) noexcept;

/// While it lives, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP and SIGUSR1 do nothing but be noted here; one
/// that was ignored before (nohup, a shell's background job) stays ignored. Handlers, not a blocked mask with signalfd:
/// children would inherit the mask. One at a time per process.
class SignalPipe {
 public:
  SignalPipe();
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  /// Readable when a signal has come.
  int fd() const noexcept { return read_end_; }
  /// A signal that has come and has not been returned yet, or 0. The same signal may be counted several times.
  int next() noexcept;

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGTSTP, SIGCHLD};
  std::array<struct sigaction, kSignals.size()> before_{};
  int read_end_ = -1;
};

}  // namespace coracle::internals
