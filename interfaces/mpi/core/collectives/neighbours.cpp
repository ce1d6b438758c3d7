// Messages along edges.
#include "interfaces/mpi/core/collectives/neighbours.hpp"

#include "runtime/core/combinators.hpp"

namespace coracle::mpi::collectives {

Task<> NeighbourCall::start() const {
  std::uint32_t first_tag = comm().next_internal_tag();
  for (std::uint32_t more = 1; more < edges_.tags; ++more) comm().next_internal_tag();
  std::vector<Task<>> messages;
  messages.reserve(sent_.size() + received_.size());
  for (std::size_t i = 0; i < received_.size(); ++i) {
    const Edge& from = edges_.sources[i];
    if (from.peer != kProcNull)
      messages.push_back(comm().receive_internal(received_[i], from.peer, first_tag + from.tag));
  }
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    const Edge& to = edges_.destinations[i];
    if (to.peer != kProcNull) messages.push_back(comm().send_internal(sent_[i], to.peer, first_tag + to.tag));
  }
  return internals::all_of(std::move(messages));
}

}  // namespace coracle::mpi::collectives
