// How a process, or a task of a shared address space, begins and ends: SpawnOptions and ExitStatus.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coracle::internals {

/// One program to start, and what the new task or process gets: plain data, the same for the shared address space and
/// for ordinary processes, so that a launcher describes a rank once and chooses the placement afterwards. Everything is
/// copied when it is spawned; nothing here need live on.
struct SpawnOptions {
  std::string program;                   ///< Path, or a name without '/' that is looked for in PATH.
  std::vector<std::string> arguments;    ///< argv, argv[0] included; empty means {program}.
  std::vector<std::string> environment;  ///< "NAME=value"; this is the whole environment, nothing is inherited.
  int stdin_fd = -1;                     ///< Becomes descriptor 0; -1 inherits.
  int stdout_fd = -1;                    ///< Becomes descriptor 1; -1 inherits.
  int stderr_fd = -1;                    ///< Becomes descriptor 2; -1 inherits.
  std::vector<int> keep_fds;             ///< Stay open although they are close-on-exec; others follow exec's rule.
  std::vector<int> cpus;                 ///< Affinity; empty inherits.
  bool new_process_group = false;        ///< The child leads a process group of its own.
  /// With a group: where the child adds it before its program runs, so that nobody can have been started in it unknown
  /// to the guardian (group_table.hpp). The caller takes it out when it has reaped the child.
  std::uint64_t* group_table = nullptr;
  int parent_death_signal = 0;  ///< Sent to the child when the spawning thread dies, also if it died just before.
  std::string name;             ///< What ps shows (comm), at most 15 characters; empty: the program's file name.
  bool core_dumps = false;      ///< Otherwise no core is written (one of a shared space holds every task).
  bool huge_pages = true;       ///< Tasks of a shared space: for data of 8 MiB and more, where the machine has some.
};

/// How a task or process ended, taken from waitpid's status word.
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
