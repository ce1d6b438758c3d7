#include <atomic>
#include <cstdio>
#include <string>

#include "interfaces/mpi/core/process.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/openmpi/entry.hpp"

namespace coracle::mpi::openmpi {
namespace {

/// Of an error that has been given back, since the program wants that, and that its user should know of all the same.
void tell_first(std::atomic<bool>& is_told, const char* name, const char* text) noexcept {
  if (is_told.exchange(true, std::memory_order_relaxed)) return;
  std::fprintf(stderr,
               "coracle: rank %u: %s%s; it has returned an error, as the program wants (said of the first such call)\n",
               this_process().rank, name, text);
}

int answer_error(const char* name, const MpiError& error, MPI_Comm on) noexcept {
  const EarlyCall call;
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
  tell_first(is_told, "", text.c_str());
  return code;
}

}  // namespace

void refuse_outside() {
  if (is_finalized()) raise(ErrorClass::other, "MPI has ended: this can't be called after MPI_Finalize");
  raise(ErrorClass::other, "MPI has not been started: call MPI_Init first");
}

int failed(const char* name, MPI_Comm on) noexcept {
  const MpiError error = current_error();
  const int code = answer_error(name, error, on);
  static std::atomic<bool> is_told{false};
  if (error.is_told_always()) tell_first(is_told, name, (std::string(": ") + error.what()).c_str());
  return code;
}

int failed(const char* name) noexcept {
  return failed(name, nullptr);
}

int refused(const char* name, const char* what) noexcept {
  return answer_missing(name, fmt::format("{} can't be done: Coracle has no {} yet", name, what));
}

int not_written(const char* name) noexcept {
  return answer_missing(name, fmt::format("{} can't be done: it is not written yet in Coracle", name));
}

}  // namespace coracle::mpi::openmpi
