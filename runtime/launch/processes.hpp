// Starting an ordinary process: the `process` placement's counterpart of pvas::AddressSpace::spawn; and ProcessState,
// what the kernel tells of one in /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "runtime/job/process.hpp"

namespace coracle::internals {

/// Starts options.program and returns once it runs (exec has succeeded). The caller reaps it. Throws Error when it
/// can't be started: then no child is left.
pid_t spawn_process(const SpawnOptions& options);

/// The path of `program`: itself if it contains a '/', else the first executable of that name in PATH. Throws Error,
/// which says what is wrong, when there is none, or when it is a folder or may not be executed.
std::string find_program(const std::string& program);

struct ProcessState {
  char letter = 0;          ///< 'R', 'S', 'D', 'T', 'Z', ... as ps shows it; 0: it is gone.
  std::uint32_t flags = 0;  ///< The kernel's PF_...

  static ProcessState of(pid_t pid);

  /// Its fate is sealed: it exits, or a signal has killed it, also when it has not been reaped or closed its files yet.
  bool is_ending() const noexcept;
  /// "sleeping", "running", "stopped", ...; a zombie is "ending".
  const char* text() const noexcept;
};

/// For a process that should have ended: "in an uninterruptible system call (in the kernel's folio_wait_bit_common)".
std::string whereabouts(pid_t pid);

}  // namespace coracle::internals
