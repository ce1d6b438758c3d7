// TeamCore: a team as collectives see it: who its members are, what this one has called, and whether the team is whole;
// and Teams, all that a rank is in.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/collective_log.hpp"
#include "runtime/job/remote.hpp"
#include "runtime/job/slab.hpp"
#include "runtime/rank/peers.hpp"
#include "runtime/team/team_nodes.hpp"

namespace coracle::internals {

class Message;
class Rank;

/// A team that is to be made, as its members have agreed.
struct TeamPlan {
  std::vector<std::uint32_t> members;  ///< Ranks, in the team's order.
  std::vector<std::uint64_t> offsets;  ///< By index: where in its segment each member's memory for the team lies.
  std::uint32_t identity;
  std::uint32_t arena_bytes;  ///< The least that any member has.
  Slab<std::byte> memory;     ///< This member's: a TeamArea, and a NodeAreaPart at kPartOffset.

  static constexpr std::uint64_t kPartOffset = 128;
};

/// The part of a Team that knows no collective.
class TeamCore : private LossObserver {
 public:
  TeamCore(const TeamCore&) = delete;
  TeamCore& operator=(const TeamCore&) = delete;

  Rank& rank() const noexcept { return rank_; }
  std::uint32_t size() const noexcept { return size_; }
  /// This rank's index in the team.
  std::uint32_t index() const noexcept { return index_; }
  /// The rank at an index.
  std::uint32_t member(std::uint32_t index) const noexcept { return members_.empty() ? index : members_[index]; }
  /// The same at every member, and of no other team. Even.
  std::uint32_t identity() const noexcept { return identity_; }
  /// The team in the envelopes of messages that layers above send for themselves.
  std::uint32_t internal_identity() const noexcept { return identity_ | 1; }
  bool broken() const noexcept { return broken_; }
  /// How the members are spread over the nodes.
  const TeamNodes& nodes() const noexcept { return nodes_; }
  /// Whether a rank is a member.
  bool has(std::uint32_t rank) const noexcept;

  /// For collectives: throws Error (peer_lost, given_up) when the team is broken.
  void check_whole(const char* what) const;
  /// For collectives: this member has ended one early. Breaks the team, everywhere. See Participation.
  void give_up() noexcept;
  /// For collectives: the waits that end when the team breaks.
  LossObservers& observers() noexcept { return observers_; }
  /// For collectives: the number of the latest collective that this member has begun on this team.
  std::uint64_t last_sequence() const noexcept { return log_.last_number(); }
  /// What tools know a collective by (coracle_event::id).
  std::uint64_t event_id(std::uint64_t number) const noexcept {
    return std::uint64_t{identity_} << 32 | (number & 0xffffffff);
  }
  /// For collectives: what this member has called.
  CollectiveLog& log() noexcept { return log_; }
  const CollectiveLog& log() const noexcept { return log_; }
  /// For collectives: breaks the team, everywhere, since its members have not called the same: `text` says what.
  void break_as_misfit(const std::string& text);
  /// break_as_misfit(), from inside a collective.
  [[noreturn]] void throw_misfit(const std::string& text);
  /// Of a new part of `whole`: is broken, if that has broken meanwhile.
  void break_like(const TeamCore& whole);
  /// Whose calls differ from this member's, and have not been looked into yet.
  void set_at_odds(std::uint32_t peer) noexcept { at_odds_ = peer; }
  bool is_at_odds() const noexcept { return at_odds_.has_value(); }
  std::optional<std::uint32_t> take_at_odds() noexcept;
  /// Whether this member waits in the last barrier of the job.
  bool finalizes() const noexcept { return finalizes_; }
  /// For collectives: this team's area at the first member of a node.
  Remote<TeamArea> leader_area(std::uint32_t node) const noexcept {
    const std::uint64_t offset = leader_offsets_.empty() ? 0 : leader_offsets_[node];
    return Remote<TeamArea>(RemoteAddress{offset, member(nodes_.member(node, 0)), RemoteAddress::kOwnSegment});
  }
  TeamArea& own_area() const noexcept { return *own_area_; }
  /// For collectives that use the team's signals: a ticket, taken before anything else is awaited, so that these
  /// collectives have the same order at all members.
  std::uint64_t take_ticket() noexcept { return entered_++; }
  /// Waits for this rank's earlier ones, so that the counts don't mix. Gives the count of signals of each other.
  Task<std::uint64_t> enter_signals(std::uint64_t ticket);
  void leave_signals() noexcept;

 protected:
  /// See Team.
  explicit TeamCore(Rank& rank);
  TeamCore(Rank& rank, TeamPlan& plan);
  ~TeamCore();

  /// From now on a member that is lost breaks the team; so do those that are already.
  void watch_members();
  void finalize_job() noexcept { finalizes_ = true; }

 private:
  friend class Teams;
  bool concerns(std::uint32_t peer) const noexcept override { return !observers_.empty() && has(peer); }
  void lost(const Loss& loss) noexcept override;
  /// `loss`: as told here; of a peer that another member has lost.
  void break_by(const Loss& loss);

  Rank& rank_;
  std::vector<std::uint32_t> members_;  // empty: all ranks, each at its own index
  std::uint32_t size_;
  std::uint32_t index_;
  std::uint32_t identity_ = 0;
  TeamNodes nodes_;
  std::vector<std::uint64_t> leader_offsets_;  // by node; empty: all are 0
  TeamArea* own_area_;
  bool broken_ = false;
  bool finalizes_ = false;
  std::uint32_t lost_member_ = 0;  // why it is broken
  LossObservers observers_;
  std::optional<std::uint32_t> at_odds_;
  std::uint64_t entered_ = 0;
  std::uint64_t left_ = 0;
  Event left_one_;
  CollectiveLog log_;
};

/// Is told when a team breaks, to put an end to what it does for it. Must not start operations at once.
class TeamObserver {
 public:
  virtual void broken(TeamCore& team) = 0;

 protected:
  ~TeamObserver() = default;
};

/// A rank's teams, by their identities.
class Teams {
 public:
  explicit Teams(Rank& rank);
  const std::map<std::uint32_t, TeamCore*>& all() const noexcept { return all_; }
  void enter(TeamCore& team);
  void leave(const TeamCore& team) noexcept { all_.erase(team.identity()); }
  /// Null when this rank is in no such team, or no longer.
  TeamCore* find(std::uint32_t identity) const noexcept;

  /// For a new team whose first member is this rank: of no other team, also of none that other ranks make.
  std::uint32_t new_identity();
  /// What it is made of, for people: the first member's rank, and how many it had been given before.
  struct Origin {
    std::uint32_t rank;
    std::uint32_t count;
  };
  Origin origin_of(std::uint32_t identity) const noexcept;

  /// Keeps memory as long as this rank lives: members that have failed may still reach for it.
  void keep_for_good(Slab<std::byte> memory) { kept_for_good_.push_back(std::move(memory)); }
  /// For node areas: keeps memory that local members may read until all of them have departed.
  void keep_until_departed(Slab<std::byte> memory, const std::atomic<std::uint32_t>& departed,
                           std::uint32_t local_size);
  /// Gives back what can be given back now.
  void sweep() noexcept;

  /// Must live as long as the rank's locals.
  void observe(TeamObserver& observer);

 private:
  friend class TeamCore;
  /// Handler of what a member says that has found the team broken.
  static void on_broken(Rank& rank, const Message& message);
  static Task<> tell_member(Rank& rank, std::uint32_t member, std::uint32_t identity, Loss loss);

  struct Kept {
    Slab<std::byte> memory;
    const std::atomic<std::uint32_t>* departed;
    std::uint32_t local_size;
  };

  Rank& rank_;
  std::map<std::uint32_t, TeamCore*> all_;
  std::vector<Kept> kept_;
  std::vector<Slab<std::byte>> kept_for_good_;
  std::vector<TeamObserver*> observers_;
  std::uint32_t count_ = 0;  // of identities made here
};

}  // namespace coracle::internals
