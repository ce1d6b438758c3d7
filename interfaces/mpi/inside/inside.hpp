// Coracle's own functions inside a program of MPI: the team of a communicator, the layout of a datatype, and how
// ordinary functions await tasks. Handles come as pointers, so that this knows no mpi.h.
#pragma once

#include <utility>

#include "interfaces/mpi/core/progress.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/task.hpp"
#include "runtime/layout/layout.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Whether the process's MPI is Coracle's and runs: from MPI_Init to MPI_Finalize.
bool runs_mpi() noexcept;
/// Throws Error: (unsupported) where the process's MPI is another one, before MPI_Init, after MPI_Finalize, and on
/// another thread than MPI_Init's; (bad_input) for what is no communicator, or none that is left.
Team& team_of_mpi(const void* comm);
/// The same of a datatype, which need not be committed.
Layout layout_of_mpi(const void* datatype);
/// Of the world's loop. Throws Error (unsupported) as team_of_mpi does.
mpi::Progress& mpi_progress();

template <class T>
T await(Task<T> task) {
  mpi::Progress& progress = mpi_progress();
  const mpi::CallLockScope lock(progress.lock());
  return progress.wait<mpi::AwaitNote>(task);
}
template <Operationlike A>
auto await(A operation) {
  return await(as_task(std::move(operation)));
}
/// Lets the loop do what is there, once, without waiting.
void progress();

}  // namespace coracle::internals
