// Coracle inside a program of MPI, which is linked with libcoracle-mpi
// (`pkg-config --libs libcoracle-mpi`). Start it by `coracle run`. Not in <coracle/coracle.hpp>.
#pragma once

#include <mpi.h>
#include <coracle/layout.hpp>
#include <coracle/team.hpp>

#include "interfaces/mpi/inside/inside.hpp"

#ifndef OPEN_MPI
#error "<coracle/mpi.hpp> needs an mpi.h of Open MPI's interface: compile with coracle-mpicxx or mpicxx.openmpi"
#endif

namespace coracle {

/// Turns the loop of this process's rank until `task`, or an operation such as a put, has ended; gives its value or
/// throws its error. For functions that are no coroutines; a coroutine says co_await. Only on the thread that has
/// called MPI_Init, between that and MPI_Finalize: else Error (unsupported).
using internals::await;
/// Lets what is under way go on, once, without waiting: for functions that compute for long.
using internals::progress;
/// Whether this process's MPI is Coracle's and runs. Where it is not, all the others throw Error (unsupported).
using internals::runs_mpi;

/// The team of a communicator: the same members in the same order, on this process's rank, which is team.rank(). It
/// lives as long as the communicator. Its collectives count as the communicator's own: all members must call both in
/// the same order. Messages match those of MPI: team.send(data, 1, 7) is received by MPI_Recv from there with tag 7.
/// Throws Error: (unsupported) as told above; (bad_input) for what is no communicator.
inline Team& from_mpi(MPI_Comm comm) {
  return internals::team_of_mpi(comm);
}

/// Where a datatype's bytes lie. It may be freed; the layout is a value of its own. Throws Error as from_mpi() does.
inline Layout layout_of(MPI_Datatype datatype) {
  return internals::layout_of_mpi(datatype);
}

}  // namespace coracle
