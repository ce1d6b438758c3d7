// Process: what those parts of the core that know no job must know of this process.
#pragma once

#include <cstdint>
#include <span>

namespace coracle::mpi {

/// World sets it in MPI_Init.
struct Process {
  std::uint32_t rank = 0;  ///< In the job.
  /// Ends the job with a status; does not return. Outside MPI_Init and MPI_Finalize it ends this process.
  void (*abort)(int status) = nullptr;
};

Process& this_process() noexcept;
/// What the program was started with, its name first. Empty where the C library does not tell.
std::span<const char* const> program_arguments() noexcept;

/// Ends the job by Process::abort; or, where there is none, the process.
[[noreturn]] void abort_job(int status) noexcept;

}  // namespace coracle::mpi
