// What a communicator is.
#include "interfaces/mpi/core/comm.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "runtime/messages/send_recv.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::mpi {

Comm* Comm::first_ = nullptr;

Comm::Comm(std::shared_ptr<internals::Team> team, Ref<Group> group, Ref<ErrorHandler> handler)
    : error_handler(std::move(handler)),
      team_(std::move(team)),
      group_(std::move(group)),
      rank_(static_cast<int>(team_->index())),
      size_(static_cast<int>(team_->size())),
      peers_(size_) {
  enter();
}

Comm::Comm(int rank, Ref<Group> group, Ref<ErrorHandler> handler)
    : error_handler(std::move(handler)), group_(std::move(group)), rank_(rank), size_(group_->size()), peers_(size_) {
  enter();
}

void Comm::set_remote(Remote remote) noexcept {
  remote_ = std::move(remote);
  peers_ = remote_.group->size();
}

Comm::~Comm() {
  (previous_ != nullptr ? previous_->next_ : first_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

void Comm::enter() noexcept {
  next_ = std::exchange(first_, this);
  if (next_ != nullptr) next_->previous_ = this;
}

void Comm::end_all() noexcept {
  for (Comm* comm = first_; comm != nullptr; comm = comm->next_) comm->team_.reset();
}

void Comm::add_label(internals::SignalText& text) const noexcept {
  if (!name.empty()) return text.add("{}", std::string_view(name));
  if (team_ == nullptr) return text.add("a communicator of {} processes in the making", size_);
  const auto [rank, count] = team_->rank().local<internals::Teams>().origin_of(team_->core().identity());
  if (is_inter()) return text.add("inter-communicator {}.{} of {} and {} processes", rank, count, size_, peers_);
  text.add("communicator {}.{} of {} processes", rank, count, size_);
}

std::string Comm::label() const {
  std::array<char, 256> room;
  internals::SignalText text(room.data(), room.size());
  add_label(text);
  return std::string(text.view());
}

const Comm* Comm::of_team(std::uint32_t identity) noexcept {
  const Comm* comm = first_;
  while (comm != nullptr && (comm->team_ == nullptr || comm->team_->core().identity() != identity)) comm = comm->next_;
  return comm;
}

void Comm::refuse_unmade() {
  raise(ErrorClass::comm, "the communicator is still being made: wait for MPI_Comm_idup's request first");
}

void Comm::refuse_rank(int rank, const char* what) const {
  raise(ErrorClass::rank, "{} is {}: a rank of {} is from 0 to {}", what, rank,
        is_inter() ? "the other group" : "this communicator", peers_ - 1);
}

internals::Task<> Comm::send_internal(internals::MessageSource source, int to, std::uint64_t tag) {
  co_await team().send_internal(source, static_cast<std::uint32_t>(to + first_peer()), tag);
}

internals::Task<> Comm::receive_internal(internals::MessageTarget target, int from, std::uint64_t tag) {
  co_await team().receive_internal(target, static_cast<std::uint32_t>(from + first_peer()), tag);
}

void refuse_null_comm() {
  raise(ErrorClass::comm, "comm is MPI_COMM_NULL");
}

void refuse_inter() {
  raise(ErrorClass::comm, "comm is an inter-communicator: this function takes an intra-communicator");
}

}  // namespace coracle::mpi
