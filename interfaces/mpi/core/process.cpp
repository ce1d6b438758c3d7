#include "interfaces/mpi/core/process.hpp"

#include <cstdio>
#include <cstdlib>

namespace coracle::mpi {

namespace {

constinit std::span<const char* const> noted_arguments;

#if defined(__GLIBC__)
/// glibc hands the program's arguments to every library's constructors. (/proc/self/cmdline tells those of another,
/// where processes share an address space.)
[[gnu::constructor]] void note_arguments(int count, char** arguments, char**) {
  noted_arguments = {arguments, static_cast<std::size_t>(count)};
}
#endif

}  // namespace

std::span<const char* const> program_arguments() noexcept {
  return noted_arguments;
}

Process& this_process() noexcept {
  static constinit Process process;
  return process;
}

void abort_job(int status) noexcept {
  std::fflush(stdout);  // not all: a thread may wait for input
  std::fflush(stderr);
  if (this_process().abort != nullptr) this_process().abort(status);
  // A status of 0 would tell the launcher that all is well.
  std::_Exit(status == 0 ? 1 : status);
}

}  // namespace coracle::mpi
