// ProcessState: what the kernel tells of a process in /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace coracle::internals {

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
