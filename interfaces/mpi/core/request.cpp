// What all requests have in common.
#include "interfaces/mpi/core/request.hpp"

#include <utility>

namespace coracle::mpi {

Status Request::end() noexcept {
  Status status;
  if (active_) status = look();
  settle();
  active_ = shared_;
  return status;
}

void Request::start() {
  if (!persistent_) raise(ErrorClass::request, "the request is not a persistent one, which alone can be started");
  if (active_) raise(ErrorClass::request, "the request is active already: wait for it before it is started again");
  error_.clear();
  begin();
  active_ = true;
}

void Request::note_error(Status& status) noexcept {
  const MpiError error = current_error();
  status.error = error.code();
  try {
    error_ = error.what();
  } catch (...) {
    error_.clear();  // the class says enough
  }
}

}  // namespace coracle::mpi
