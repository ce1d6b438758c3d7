// What all requests have in common.
#include "interfaces/mpi/core/request.hpp"

#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::mpi {

Status Request::end() noexcept {
  Status status;
  if (kind_ == Kind::ended) return status;
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

void Request::note_end_of(bool cancelling, Status& status) noexcept {
  try {
    throw;
  } catch (const internals::Error& error) {
    status.cancelled = cancelling && error.code() == std::errc::operation_canceled;
  } catch (...) {
    status.cancelled = false;
  }
  if (!status.cancelled) note_error(status);
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
