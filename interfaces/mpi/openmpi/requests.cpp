// What entry points of requests do themselves.
#include "interfaces/mpi/core/request.hpp"

#include "interfaces/mpi/core_functions.hpp"
#include "interfaces/mpi/openmpi/entry.hpp"

namespace coracle::mpi::openmpi {
namespace {

enum class Found { none, done, wrong };

Found look_at(MPI_Request handle) noexcept {
  if (handle == null_handle<Request>()) return Found::none;
  if (handle == nullptr || handle->word.object == nullptr) return Found::wrong;
  const auto* request = static_cast<const Request*>(handle->word.object);
  return request->is_active() && request->is_done() ? Found::done : Found::none;
}

}  // namespace

bool take_first_done(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (requests == nullptr || index == nullptr) return false;
  for (int place = 0; place < count; ++place) {
    const Found found = look_at(requests[place]);
    if (found == Found::none) continue;
    if (found == Found::wrong) return false;
    *index = place;  // also where the request has failed
    if (flag != nullptr) *flag = 1;
    HandleInOut<Request> taken(&requests[place], "requests");
    StatusOut to(status);
    mpi::wait(taken.object(), to.status());
    return true;
  }
  return false;
}

}  // namespace coracle::mpi::openmpi
