// The PVAS task model (Shimada, Hori, Ishikawa 2015) in user space: real processes ("tasks") with their own PID,
// descriptors, signal handlers and globals, which all live in the one address space of the process that made them (the
// root), so that a plain pointer reaches any task's memory. docs/pvas.md says how it works and what to beware of.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "runtime/job/process.hpp"
#include "runtime/pvas/support.hpp"

namespace coracle::internals::pvas {

struct Options {
  std::size_t partition_bytes = 16ULL << 30;  ///< Distance of two tasks; a multiple of 1 GiB, at least 4 GiB.
  int max_tasks = 0;                          ///< At once; 0: as many as fit. More than fit are refused by create.
  bool force_rlimit_mode = false;             ///< For tests.
  std::size_t max_mappings = 0;               ///< Instead of vm.max_map_count, for tests; 0 reads the kernel's.
};

/// Belongs to the process and thread that created it; that process is single-threaded while it spawns. A process has at
/// most one. A fork of the root must not use its copy (destruction there does nothing).
class AddressSpace {
 public:
  /// Tests whether the machine can do it (see probe), and how. Throws Error with the reason and the remedy.
  static AddressSpace create(const Options& options = {});

  AddressSpace(AddressSpace&&) noexcept;
  AddressSpace& operator=(AddressSpace&&) noexcept;
  /// As destroy(), without its errors.
  ~AddressSpace();

  /// Starts an unmodified position-independent program (dynamic or static-pie) or a script as a task: a child process
  /// of the caller. Throws Error: a bad program, no partition left, too few mappings or processes left; nothing is left
  /// behind then.
  pid_t spawn(const SpawnOptions& options);

  /// Waits until the task has ended and takes back its memory. `pid` came from spawn.
  ExitStatus wait(pid_t pid);
  /// Takes back a task's memory; to be called after the caller's own waitpid has reported its end, and before that pid
  /// can be another's. Other pids are ignored (returns false).
  bool reaped(pid_t pid);

  /// Instead of reaped(), for a task whose memory others still use: takes back only what would hold the task's
  /// descriptors open, so that whoever is connected to it learns of its end. The memory goes with reaped() or
  /// destroy(). In rlimit mode what that is can't be told: then such descriptors stay open as long as the memory stays.
  bool close_descriptors(pid_t pid);

  /// Kills every task that still runs, waits for it and takes everything back; what the kernel has not ended after 10 s
  /// keeps its memory. The object is empty afterwards.
  void destroy();

  Mode mode() const noexcept;
  /// Why it is this mode: one sentence for `coracle info`.
  const std::string& mode_reason() const noexcept;
  /// True from spawn until the task has been waited for.
  bool contains(pid_t pid) const noexcept;
  /// Tasks spawned and not yet waited for.
  std::size_t task_count() const noexcept;

 private:
  struct State;
  explicit AddressSpace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// For `coracle info`. Never throws for what the machine lacks. Costs a few milliseconds (the self-test reads libc's
/// text); leaves nothing behind.
Support probe();

}  // namespace coracle::internals::pvas
