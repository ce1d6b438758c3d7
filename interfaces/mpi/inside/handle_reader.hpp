// HandleReader: how Coracle's own functions in a program of MPI learn what its handles are.
#pragma once

namespace coracle::mpi {

class Comm;
class Datatype;

/// Of one binary interface, whose library says so when it is loaded. The first two throw MpiError for what is no such
/// handle, or a null one.
struct HandleReader {
  Comm& (*comm)(const void* handle);
  const Datatype& (*datatype)(const void* handle);
  /// Whether the calling thread is the one that has called MPI_Init.
  bool (*is_thread_main)();
};

/// `reader` must live as long as the process. Where none is set the process's MPI is not Coracle's.
void set_handle_reader(const HandleReader& reader) noexcept;

/// The communicator behind a handle, whose team is there. Throws internals::Error as internals::team_of_mpi does.
Comm& comm_of(const void* handle);

}  // namespace coracle::mpi
