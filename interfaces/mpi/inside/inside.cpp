// What the process's MPI is, and what becomes of its handles.
#include "interfaces/mpi/inside/inside.hpp"

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/inside/handle_reader.hpp"
#include "runtime/core/error.hpp"

namespace coracle::mpi {
namespace {

using internals::Errc;
using internals::Error;

const HandleReader* the_reader = nullptr;

[[noreturn]] void refuse_world() {
  if (the_reader == nullptr)
    throw Error(Errc::unsupported,
                "this process's MPI is not Coracle's, so its communicators are no teams: start the program by "
                "`coracle run`, which puts Coracle's MPI library first");
  throw Error(Errc::unsupported, World::was_there()
                                     ? "MPI_Finalize has been called: what awaits or uses teams must come before it"
                                     : "MPI_Init has not been called yet: there are no teams before it");
}

World& running_world() {
  if (!internals::runs_mpi()) [[unlikely]]
    refuse_world();
  if (!the_reader->is_thread_main()) [[unlikely]]
    throw Error(Errc::unsupported,
                "this is another thread than the one that called MPI_Init: only that one may use teams and await");
  // What the program does with teams takes no lock. Said in a call, so that nobody is being let in meanwhile.
  const ThreadCall call;
  Callers::stay_alone();
  return World::get();
}

/// `read` of the handle, with errors as the runtime has them.
template <class Object>
Object& object_of(Object& (*read)(const void*), const void* handle) {
  try {
    return read(handle);
  } catch (const MpiError& error) {
    throw Error(Errc::bad_input, error.what());
  }
}

}  // namespace

void set_handle_reader(const HandleReader& reader) noexcept {
  the_reader = &reader;
}

Comm& comm_of(const void* handle) {
  running_world();
  const ThreadCall call;
  Comm& comm = object_of(the_reader->comm, handle);
  if (!comm.has_team())
    throw Error(Errc::bad_input, "the communicator is still being made: wait for MPI_Comm_idup's request first");
  if (comm.is_inter())
    throw Error(Errc::bad_input,
                "this is an inter-communicator: take one of its sides, or merge them (MPI_Intercomm_merge)");
  return comm;
}

}  // namespace coracle::mpi

namespace coracle::internals {

bool runs_mpi() noexcept {
  return mpi::the_reader != nullptr && mpi::World::is_there();
}

Team& team_of_mpi(const void* comm) {
  return mpi::comm_of(comm).team();
}

Layout layout_of_mpi(const void* datatype) {
  mpi::running_world();
  const mpi::ThreadCall call;
  return mpi::object_of(mpi::the_reader->datatype, datatype).layout();
}

mpi::Progress& mpi_progress() {
  return mpi::running_world().progress();
}

void progress() {
  mpi::World& world = mpi::running_world();
  const mpi::ThreadCall call;
  world.poll();
}

}  // namespace coracle::internals
