// How a task or process ended, taken from waitpid's status word.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <chrono>
#include <optional>
#include <string>

namespace coracle::internals {

struct ExitStatus {
  int code = 0;    ///< exit()'s value, or -1 when a signal ended it.
  int signal = 0;  ///< The signal that ended it, or 0.

  bool ok() const noexcept { return code == 0 && signal == 0; }

  /// `status` is what waitpid stored for a child that has ended.
  static ExitStatus from_wait(int status) noexcept {
    if (WIFSIGNALED(status)) return {-1, WTERMSIG(status)};
    return {WEXITSTATUS(status), 0};
  }

  /// "exit status 3" or "killed by signal 11 (Segmentation fault)".
  std::string text() const;

  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

/// Reaps child `pid`, waiting for its end no longer than `patience`, since one that is stopped, or stuck in the kernel,
/// may never come to it. Nothing: it still runs. A child that someone else has reaped counts as ended well.
std::optional<ExitStatus> wait_for_end(pid_t pid, std::chrono::nanoseconds patience) noexcept;

}  // namespace coracle::internals
