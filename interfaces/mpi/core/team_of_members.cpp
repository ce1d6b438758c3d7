// A team that its members make alone, by messages: MPI_Comm_create_group.
#include <memory>
#include <utility>
#include <vector>

#include "interfaces/mpi/core/comm_create.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "runtime/team/new_team.hpp"

namespace coracle::mpi {
namespace {

using internals::MessageSource;
using internals::MessageTarget;
using internals::NewTeam;
using internals::Task;
using internals::Team;
using internals::TeamProposal;

/// The members' messages: a tree of two levels would do for thousands; groups of MPI_Comm_create_group are small.
class Members {
 public:
  /// Tags of the library's own, apart from those of its collectives.
  Members(Ref<Comm> comm, Ref<Group> group, std::uint32_t tag)
      : comm_(std::move(comm)), group_(std::move(group)), tag_(tag | kTags) {}

  /// Gives what every member proposes. All tell the first, which tells all.
  Task<std::vector<TeamProposal>> exchange(TeamProposal mine) {
    std::vector<TeamProposal> all(group_->members().size());
    if (place(0) != comm_->rank()) {
      co_await comm_->send_internal(MessageSource(std::as_bytes(std::span(&mine, 1))), place(0), tag_);
      co_await comm_->receive_internal(MessageTarget(std::as_writable_bytes(std::span(all))), place(0), tag_);
      co_return all;
    }
    all.front() = mine;
    for (int member = 1; member < group_->size(); ++member) {
      const std::span<TeamProposal> told(&all[static_cast<std::size_t>(member)], 1);
      co_await comm_->receive_internal(MessageTarget(std::as_writable_bytes(told)), place(member), tag_);
    }
    for (int member = 1; member < group_->size(); ++member)
      co_await comm_->send_internal(MessageSource(std::as_bytes(std::span(all))), place(member), tag_);
    co_return all;
  }

 private:
  static constexpr std::uint32_t kTags = 0x80000000U;
  int place(int member) const noexcept { return comm_->group().place_of(group_->member(member)); }

  Ref<Comm> comm_;
  Ref<Group> group_;
  std::uint32_t tag_;
};

}  // namespace

Task<std::shared_ptr<Team>> make_team_of(Ref<Comm> comm, Ref<Group> group, std::uint32_t tag) {
  NewTeam made(World::get().rank());
  Members members(comm, group, tag);
  std::vector<TeamProposal> proposals = co_await members.exchange(made.proposal());
  std::unique_ptr<Team> team = co_await made.make(group->members(), std::move(proposals), comm->team().core());
  co_return team;
}

}  // namespace coracle::mpi
