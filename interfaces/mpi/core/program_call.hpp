// Where the program has called the collective that it is in, for messages about members that call different ones.
#pragma once

#include "runtime/job/collective_log.hpp"

namespace coracle::mpi {

/// Of this process. Functions are called from one thread.
[[gnu::visibility("hidden")]] inline constinit internals::ProgramCall program_call;

/// While an entry point of a collective runs.
class ProgramCallScope {
 public:
  /// `function`: "MPI_Bcast", a literal. `site`: what the entry point returns to.
  ProgramCallScope(const char* function, const void* site) noexcept { program_call = {function, site}; }
  ~ProgramCallScope() { program_call.function = nullptr; }
  ProgramCallScope(const ProgramCallScope&) = delete;
  ProgramCallScope& operator=(const ProgramCallScope&) = delete;
};

}  // namespace coracle::mpi
