// Comm: a communicator: a team, its group, and what programs attach to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "interfaces/mpi/core/attributes.hpp"
#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/error_handler.hpp"
#include "interfaces/mpi/core/group.hpp"
#include "interfaces/mpi/core/info.hpp"
#include "interfaces/mpi/core/object.hpp"
#include "interfaces/mpi/core/topology.hpp"
#include "runtime/core/signal_text.hpp"
#include "runtime/core/task.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/team/team.hpp"

namespace coracle::mpi {

/// An intra-communicator, whose members send to each other; or an inter-communicator, whose members send to those of
/// another group. That is a team of both groups, one behind the other: places in it are told from ranks, which programs
/// give and get, by first_peer().
class Comm final : public Object {
 public:
  /// The other side of an inter-communicator.
  struct Remote {
    Ref<Group> group;
    int first = 0;    ///< Its first member's place in the team of both.
    Ref<Comm> local;  ///< Of this side alone, for the library.
  };

  /// `group`: the team's members.
  Comm(std::shared_ptr<internals::Team> team, Ref<Group> group, Ref<ErrorHandler> handler);
  /// Of one whose team is still being made (MPI_Comm_idup); it may be used from set_team() on.
  Comm(int rank, Ref<Group> group, Ref<ErrorHandler> handler);
  void set_team(std::shared_ptr<internals::Team> team) noexcept { team_ = std::move(team); }
  /// Makes an inter-communicator of it; `group` is this side's.
  void set_remote(Remote remote) noexcept;
  /// At the end of the world: all communicators that there still are lose their teams. Only freeing them is left.
  static void end_all() noexcept;

  /// Throws MpiError (comm) where it is still being made.
  internals::Team& team() const {
    if (team_ == nullptr) [[unlikely]]
      refuse_unmade();
    return *team_;
  }
  /// Not yet where MPI_Comm_idup is under way.
  bool has_team() const noexcept { return team_ != nullptr; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  bool is_inter() const noexcept { return static_cast<bool>(remote_.group); }
  /// Of an inter-communicator.
  const Group& remote_group() const noexcept { return *remote_.group; }
  const Ref<Group>& shared_remote_group() const noexcept { return remote_.group; }
  Comm& local() const noexcept { return *remote_.local; }
  /// To how many a message can go, and the first one's place in the team: of an intra-communicator its size, and 0.
  int peers() const noexcept { return peers_; }
  int first_peer() const noexcept { return remote_.first; }
  /// Whom a rank given with a message means.
  const Group& peer_group() const noexcept { return is_inter() ? *remote_.group : *group_; }
  const Group& group() const noexcept { return *group_; }
  const Ref<Group>& shared_group() const noexcept { return group_; }
  /// Throws MpiError (rank) where no message can go to `rank`; `what` names the argument.
  void check_member(int rank, const char* what) const {
    if (rank < 0 || rank >= peers_) [[unlikely]]
      refuse_rank(rank, what);
  }

  // The library's own messages, which no receive of the program sees: for neighbours' collectives and the like.
  // `tag` of the library's own; matched as messages are. Peers by rank, as programs give them.
  internals::Task<> send_internal(internals::MessageSource source, int to, std::uint64_t tag);
  internals::Task<> receive_internal(internals::MessageTarget target, int from, std::uint64_t tag);
  /// A number that all members' calls in the same order give alike: for tags of collectives made of messages.
  std::uint32_t next_internal_tag() noexcept { return internal_tag_++; }
  /// Its name; without one, its size and a number, the same at all members: the first one's rank in MPI_COMM_WORLD, and
  /// which of those that began there it is.
  std::string label() const override;
  /// The same; for signal handlers.
  void add_label(internals::SignalText& text) const noexcept;
  /// The one of a team, by Team::identity(); null where there is none (any more). For signal handlers, too.
  static const Comm* of_team(std::uint32_t identity) noexcept;

  std::string name;
  Attributes attributes{KeyvalOf::comm};
  Ref<ErrorHandler> error_handler;
  Ref<Info> info;
  std::unique_ptr<Topology> topology;

 private:
  ~Comm() override;
  void enter() noexcept;
  [[noreturn]] static void refuse_unmade();
  [[noreturn]] void refuse_rank(int rank, const char* what) const;

  // All that there are, in a list.
  static Comm* first_;
  Comm* next_ = nullptr;
  Comm* previous_ = nullptr;

  std::shared_ptr<internals::Team> team_;
  Ref<Group> group_;
  int rank_;
  int size_;
  int peers_;
  std::uint32_t internal_tag_ = 0;
  Remote remote_;
};

/// Throws MpiError (comm) for MPI_COMM_NULL.
[[noreturn]] void refuse_null_comm();
inline Comm& checked(Comm* comm) {
  if (comm == nullptr) [[unlikely]]
    refuse_null_comm();
  return *comm;
}

/// The same; throws MpiError (comm) for an inter-communicator, too.
[[noreturn]] void refuse_inter();
inline Comm& checked_intra(Comm* comm) {
  if (checked(comm).is_inter()) [[unlikely]]
    refuse_inter();
  return *comm;
}

}  // namespace coracle::mpi
