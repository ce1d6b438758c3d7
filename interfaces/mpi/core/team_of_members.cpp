// A team that its members make alone, by messages: MPI_Comm_create_group.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "interfaces/mpi/core/comm_create.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/team/new_team.hpp"

namespace coracle::mpi {
namespace {

using internals::MessageSource;
using internals::MessageTarget;
using internals::NewTeam;
using internals::Task;
using internals::Team;
using internals::TeamProposal;

/// The members' messages.
class Members {
 public:
  Members(Ref<Comm> comm, Ref<Group> group, std::uint64_t tag)
      : comm_(std::move(comm)), group_(std::move(group)), tag_(tag) {}

  /// Gives what every member proposes. Each learns from members that are 1, 2, 4, ... places behind it what these have
  /// learned so far: after the logarithm of their number steps it knows all (Bruck et al. 1997).
  Task<std::vector<TeamProposal>> exchange(TeamProposal mine) {
    const std::size_t size = group_->members().size();
    const auto self = static_cast<std::size_t>(group_->place_of(World::get().rank().id()));
    std::vector<TeamProposal> behind(size);  // of the members behind this one, which is the first
    behind.front() = mine;
    for (std::size_t known = 1; known < size; known *= 2) {
      const std::size_t count = std::min(known, size - known);
      const std::span<const TeamProposal> told(behind.data(), count);
      const std::span<TeamProposal> learned(behind.data() + known, count);
      co_await internals::when_all(
          comm_->send_internal(MessageSource(std::as_bytes(told)), place((self + size - known) % size), tag_),
          comm_->receive_internal(MessageTarget(std::as_writable_bytes(learned)), place((self + known) % size), tag_));
    }
    std::vector<TeamProposal> all(size);
    for (std::size_t i = 0; i < size; ++i) all[(self + i) % size] = behind[i];
    co_return all;
  }

 private:
  int place(std::size_t member) const noexcept {
    return comm_->group().place_of(group_->member(static_cast<int>(member)));
  }

  Ref<Comm> comm_;
  Ref<Group> group_;
  std::uint64_t tag_;
};

}  // namespace

Task<std::shared_ptr<Team>> make_team_of(Ref<Comm> comm, Ref<Group> group, std::uint64_t tag) {
  NewTeam made(World::get().rank());
  Members members(comm, group, tag);
  std::vector<TeamProposal> proposals = co_await members.exchange(made.proposal());
  std::unique_ptr<Team> team = co_await made.make(group->members(), std::move(proposals), comm->team().core());
  co_return team;
}

}  // namespace coracle::mpi
