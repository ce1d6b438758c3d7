#include "interfaces/mpi/core/process.hpp"

#include <cstdio>
#include <cstdlib>

namespace coracle::mpi {

Process& this_process() noexcept {
  static constinit Process process;
  return process;
}

void abort_job(int status) noexcept {
  std::fflush(nullptr);
  if (this_process().abort != nullptr) this_process().abort(status);
  // A status of 0 would tell the launcher that all is well.
  std::_Exit(status == 0 ? 1 : status);
}

}  // namespace coracle::mpi
