// Messages between the sides.
#include "interfaces/mpi/core/collectives/across.hpp"

#include "interfaces/mpi/core/error.hpp"
#include "runtime/core/combinators.hpp"

namespace coracle::mpi::collectives {

Part part_of(const Comm& comm, int root) {
  if (root == kRoot) return Part::root;
  if (root == kProcNull) return Part::nothing;
  if (root < 0 || root >= comm.peers())
    raise(
        ErrorClass::root,
        "root is {}: over an inter-communicator it is MPI_ROOT at the root, MPI_PROC_NULL at the others of its group, "
        "and its rank, from 0 to {}, at those of the other",
        root, comm.peers() - 1);
  return Part::other;
}

Task<> AcrossCall::start() const {
  const std::uint32_t tag = comm().next_internal_tag();
  std::vector<Task<>> messages;
  messages.reserve(sent_.size() + received_.size());
  for (const auto& [from, target] : received_) messages.push_back(comm().receive_internal(target, from, tag));
  for (const auto& [to, source] : sent_) messages.push_back(comm().send_internal(source, to, tag));
  return internals::all_of(std::move(messages));
}

}  // namespace coracle::mpi::collectives
