// MPI_Barrier and its forms.
#include "collectives/blocking.hpp"
#include "interfaces/mpi/core/collectives/call.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace collectives {
namespace {

class Barrier : public Call {
 public:
  using Call::Call;
  Task<> start() const { return team().barrier(kNowhere); }
  void finish() const { internals::barrier_blocking(team(), kNowhere, runner()); }
};

}  // namespace
}  // namespace collectives

using collectives::Barrier;

void barrier(Comm* comm) {
  collectives::block(Barrier(comm));
}

void ibarrier(Comm* comm, Request*& request) {
  collectives::begin<Barrier>(request, comm);
}

void barrier_init(Comm* comm, Info* /*info*/, Request*& request) {
  collectives::prepare<Barrier>(request, comm);
}

}  // namespace coracle::mpi
