// A team that its members make alone, by messages: MPI_Comm_create_group.
#include <bitset>
#include <memory>
#include <utility>
#include <vector>

#include "interfaces/mpi/core/comm_create.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/team/node_area.hpp"

namespace coracle::mpi {
namespace {

using internals::MessageSource;
using internals::MessageTarget;
using internals::Task;
using internals::Team;
using internals::TeamArea;
using internals::Teams;

/// What members tell the first one, and what it tells them.
struct Proposal {
  std::bitset<TeamArea::kSlots> taken;
  std::uint32_t slot = 0;
  std::uint32_t identity = 0;
};

/// The members' messages: a tree of two levels would do for thousands; groups of MPI_Comm_create_group are small.
class Members {
 public:
  /// Tags of the library's own, apart from those of its collectives.
  Members(Ref<Comm> comm, Ref<Group> group, std::uint32_t tag)
      : comm_(std::move(comm)), group_(std::move(group)), tag_(tag | kTags) {}

  int size() const noexcept { return group_->size(); }
  bool is_first() const noexcept { return place(0) == comm_->rank(); }
  Task<> tell(int member, const Proposal& proposal) {
    co_await comm_->send_internal(MessageSource(std::as_bytes(std::span(&proposal, 1))), place(member), tag_);
  }
  Task<> hear(int member, Proposal& proposal) {
    co_await comm_->receive_internal(MessageTarget(std::as_writable_bytes(std::span(&proposal, 1))), place(member),
                                     tag_);
  }
  /// All tell the first, which tells all. `merge(heard)` at the first.
  template <class Merge, class Decide>
  Task<> agree(Proposal& proposal, Merge merge, Decide decide) {
    if (!is_first()) {
      co_await tell(0, proposal);
      co_await hear(0, proposal);
      co_return;
    }
    for (int member = 1; member < size(); ++member) {
      Proposal heard;
      co_await hear(member, heard);
      merge(heard);
    }
    decide();
    for (int member = 1; member < size(); ++member) co_await tell(member, proposal);
  }
  Task<> meet() {
    Proposal nothing;
    const auto ignore = [](const Proposal&) {};
    const auto rest = [] {};
    co_await agree(nothing, ignore, rest);
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
  internals::Rank& rank = World::get().rank();
  Teams& teams = rank.local<Teams>();
  Members members(comm, group, tag);
  Proposal proposal;
  for (std::uint32_t slot = 0; slot < TeamArea::kSlots; ++slot) proposal.taken[slot] = teams.taken(slot);
  const auto merge = [&proposal](const Proposal& heard) { proposal.taken |= heard.taken; };
  const auto decide = [&proposal, &teams, &rank] {
    while (proposal.slot < TeamArea::kSlots && proposal.taken[proposal.slot]) ++proposal.slot;
    proposal.identity = teams.new_identity(rank.id());
  };
  co_await members.agree(proposal, merge, decide);
  if (proposal.slot == TeamArea::kSlots)
    raise(ErrorClass::other, "a process can be in at most {} communicators at a time: free some of them",
          TeamArea::kSlots);
  auto team = std::make_shared<Team>(rank, group->members(), proposal.slot, proposal.identity);
  co_await members.meet();  // every member's area is made before anyone looks
  team->node_area().meet();
  co_await members.meet();
  co_return team;
}

}  // namespace coracle::mpi
