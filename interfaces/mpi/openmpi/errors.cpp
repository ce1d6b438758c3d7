#include <atomic>
#include <cstdio>
#include <string>

#include "interfaces/mpi/core/process.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/openmpi/entry.hpp"

namespace coracle::mpi::openmpi {
namespace {

int answer_error(const char* name, const MpiError& error, MPI_Comm on) noexcept {
  const CallLockScope lock(World::lock());
  if (!World::is_there()) end_by_error(error, name);
  Comm* comm = dynamic_cast<Comm*>(error.origin().get());
  if (comm == nullptr && on != nullptr) comm = static_cast<Comm*>(on->word.object);
  const bool is_named = comm != nullptr;
  if (!is_named) comm = &World::get().comm_world();
  // The message names no communicator that the program has not.
  if (!is_named && comm->error_handler->is_fatal()) end_by_error(error, name);
  return code_to(handle_error(*comm->error_handler, *comm, error, name));
}

/// Programs that have errors given back may look at none.
int answer_missing(const char* name, const std::string& text) noexcept {
  const int code = answer_error(name, MpiError(ErrorClass::unsupported_operation, text), nullptr);
  static std::atomic<bool> is_told{false};
  if (!is_told.exchange(true, std::memory_order_relaxed))
    std::fprintf(stderr,
                 "coracle: rank %u: %s; it has returned an error, as the program wants (said of the first such call)\n",
                 this_process().rank, text.c_str());
  return code;
}

}  // namespace

void refuse_outside() {
  if (is_finalized()) raise(ErrorClass::other, "MPI has ended: this can't be called after MPI_Finalize");
  raise(ErrorClass::other, "MPI has not been started: call MPI_Init first");
}

int failed(const char* name, MPI_Comm on) noexcept {
  return answer_error(name, current_error(), on);
}

int failed(const char* name) noexcept {
  return answer_error(name, current_error(), nullptr);
}

int refused(const char* name, const char* what) noexcept {
  return answer_missing(name, fmt::format("{} can't be done: Coracle has no {} yet", name, what));
}

int not_written(const char* name) noexcept {
  return answer_missing(name, fmt::format("{} can't be done: it is not written yet in Coracle", name));
}

}  // namespace coracle::mpi::openmpi
