// The program's functions, called when MPI says so.
#include "interfaces/mpi/core/generalized_request.hpp"

#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {

Status GeneralizedRequest::look() noexcept {
  if (outcome_) return *outcome_;
  Status status;
  const int error = functions_.query(functions_.extra, status, functions_.query_function);
  if (error != 0) status.error = error;
  outcome_ = status;
  return status;
}

void GeneralizedRequest::cancel() {
  if (const int error = functions_.cancel(functions_.extra, done_, functions_.cancel_function); error != 0)
    throw MpiError(error, "the cancel function of a generalised request has failed");
}

GeneralizedRequest::~GeneralizedRequest() {
  functions_.free(functions_.extra, functions_.free_function);
}

void grequest_complete(Request* request) {
  World::get();
  auto* generalized = dynamic_cast<GeneralizedRequest*>(request);
  if (generalized == nullptr) raise(ErrorClass::request, "the request was not made by MPI_Grequest_start");
  generalized->complete();
  World::get().progress().note_end();
  World::get().bury_orphans();  // its free function is called here, if its handle has been freed
}

}  // namespace coracle::mpi
