// What all requests have in common.
#include "interfaces/mpi/core/request.hpp"

#include <utility>

namespace coracle::mpi {

Status Request::end() noexcept {
  Status status;
  if (shared_) return status;
  if (active_) status = look();
  settle();
  active_ = false;
  return status;
}

void Request::start() {
  if (!persistent_) raise(ErrorClass::request, "the request is not a persistent one, which alone can be started");
  if (active_) raise(ErrorClass::request, "the request is active already: wait for it before it is started again");
  error_.reset();
  begin();
  active_ = true;
}

void Request::note_error(Status& status) noexcept {
  const MpiError error = current_error();
  status.error = error.code();
  try {
    error_ = std::make_unique<std::string>(error.what());
  } catch (...) {
    error_.reset();  // the class says enough
  }
}

}  // namespace coracle::mpi
