// MPI_Barrier and its forms.
#include "collectives/blocking.hpp"
#include "interfaces/mpi/core/collectives/across.hpp"
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

constinit decltype(barrier) barrier = collectives::FormsOf<collectives::Barrier, collectives::BarrierAcross>();

}  // namespace coracle::mpi
