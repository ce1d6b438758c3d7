// MPI_Bcast and its forms.
#include "collectives/blocking.hpp"
#include "collectives/collectives.hpp"
#include "interfaces/mpi/core/collectives/across_exchanges.hpp"
#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/collectives/call.hpp"
#include "interfaces/mpi/core/collectives/values.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace collectives {
namespace {

/// Scattered values go packed.
Task<> broadcast_packed(Team& team, MessageTarget values, std::uint32_t root) {
  const internals::Preparation preparation(team, "broadcast");
  const RowToReceive row(values);
  const bool gives = team.index() == root;
  if (gives) read_part(source_in(values), 0, row.span());
  co_await broadcast_bytes(team, row.span(), root, {}, kNowhere);
  if (!gives) row.store();
}

class Broadcast : public Call {
 public:
  Broadcast(void* buffer, Count count, Datatype* datatype, int root, Comm* comm)
      : Call(comm), root_(checked_root(*comm, root)) {
    refuse_in_place(buffer, "buffer");
    values_ = ReceivedValues(buffer, count, datatype);
  }
  Task<> start() const {
    return values_.is_plain() ? broadcast_bytes(team(), values_.span(), root_, {}, kNowhere)
                              : broadcast_packed(team(), values_.memory(), root_);
  }
  void finish() const {
    if (!values_.is_plain()) return run(comm(), start());
    internals::broadcast_blocking(team(), values_.span(), root_, kNowhere, runner());
  }

 private:
  std::uint32_t root_;
  ReceivedValues values_;
};

}  // namespace
}  // namespace collectives

constinit decltype(bcast) bcast = collectives::FormsOf<collectives::Broadcast, collectives::BroadcastAcross>();

}  // namespace coracle::mpi
