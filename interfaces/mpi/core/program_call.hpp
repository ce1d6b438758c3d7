// Where the program has called the collective that it is in, for messages about members that call different ones.
#pragma once

#include "interfaces/mpi/collective_names.hpp"
#include "runtime/job/collective_log.hpp"

namespace coracle::mpi {

/// Of the thread that is in a function; where several may be, CallLock keeps each one's.
extern internals::ProgramCall program_call;

/// While an entry point of a collective runs. They nest where a coroutine that one resumes calls another.
class ProgramCallScope {
 public:
  /// `function`: of kCollectiveNames. `site`: what the entry point returns to.
  ProgramCallScope(const char* function, const void* site) noexcept : outer_(program_call) {
    program_call = {function, site};
  }
  ~ProgramCallScope() { program_call = outer_; }
  ProgramCallScope(const ProgramCallScope&) = delete;
  ProgramCallScope& operator=(const ProgramCallScope&) = delete;

 private:
  const internals::ProgramCall outer_;
};

}  // namespace coracle::mpi
