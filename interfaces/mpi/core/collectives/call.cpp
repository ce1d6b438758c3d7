#include "interfaces/mpi/core/collectives/call.hpp"

namespace coracle::mpi::collectives {

Task<> fail_after(Task<> part, MpiError error) {
  co_await part;
  throw MpiError(error);
}

}  // namespace coracle::mpi::collectives
