// What a communicator is.
#include "interfaces/mpi/core/comm.hpp"

#include <utility>

#include "runtime/messages/send_recv.hpp"

namespace coracle::mpi {

Comm::Comm(std::shared_ptr<internals::Team> team, Ref<Group> group, Ref<ErrorHandler> handler)
    : error_handler(std::move(handler)),
      team_(std::move(team)),
      group_(std::move(group)),
      rank_(static_cast<int>(team_->index())),
      size_(static_cast<int>(team_->size())) {}

Comm::Comm(int rank, Ref<Group> group, Ref<ErrorHandler> handler)
    : error_handler(std::move(handler)), group_(std::move(group)), rank_(rank), size_(group_->size()) {}

Comm::~Comm() = default;

void Comm::refuse_rank(int rank, const char* what) const {
  raise(ErrorClass::rank, "{} is {}: a rank of this communicator is from 0 to {}", what, rank, size_ - 1);
}

internals::Task<> Comm::send_internal(internals::MessageSource source, int to, std::uint32_t tag) {
  co_await team_->send_internal(source, static_cast<std::uint32_t>(to), tag);
}

internals::Task<> Comm::receive_internal(internals::MessageTarget target, int from, std::uint32_t tag) {
  co_await team_->receive_internal(target, static_cast<std::uint32_t>(from), tag);
}

Comm& checked(Comm* comm) {
  if (comm == nullptr) [[unlikely]]
    raise(ErrorClass::comm, "comm is MPI_COMM_NULL");
  return *comm;
}

}  // namespace coracle::mpi
