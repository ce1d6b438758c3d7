// TeamCore: a team as collectives see it: who its members are, what this one has called, and whether the team is whole.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
  std::uint32_t slot() const noexcept { return slot_; }
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
  /// For collectives: this team's area at a member.
  Remote<TeamArea> area(std::uint32_t index) const noexcept {
    return Remote<TeamArea>(RemoteAddress{std::uint64_t{slot_} * sizeof(TeamArea), member(index), 0});
  }
  TeamArea& own_area() const noexcept;
  /// For collectives that use the team's signals: a ticket, taken before anything else is awaited, so that these
  /// collectives have the same order at all members.
  std::uint64_t take_ticket() noexcept { return entered_++; }
  /// Waits for this rank's earlier ones, so that the counts don't mix. Gives the count of signals of each other.
  Task<std::uint64_t> enter_signals(std::uint64_t ticket);
  void leave_signals() noexcept;

 protected:
  /// See Team.
  explicit TeamCore(Rank& rank);
  TeamCore(Rank& rank, std::vector<std::uint32_t> members, std::uint32_t slot, std::uint32_t identity);
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
  std::uint32_t slot_;
  std::uint32_t identity_ = 0;
  TeamNodes nodes_;
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

/// A rank's teams, by their slots.
class Teams {
 public:
  explicit Teams(Rank& rank) noexcept;
  bool taken(std::uint32_t slot) const noexcept { return slots_[slot] != nullptr; }
  /// By slot; null where there is none.
  std::span<TeamCore* const> all() const noexcept;
  void enter(TeamCore& team) noexcept {
    CORACLE_ASSERT(slots_[team.slot()] == nullptr, "slot {} has a team", team.slot());
    slots_[team.slot()] = &team;
  }
  void leave(const TeamCore& team) noexcept { slots_[team.slot()] = nullptr; }
  /// Null when this rank is in no such team, or no longer.
  TeamCore* find(std::uint32_t identity) const noexcept;

  /// For a new team whose first member is this `rank`: of no other team, also of none that other ranks make.
  std::uint32_t new_identity(std::uint32_t rank);

  /// For node areas: keeps memory that local members may read until all of them have departed.
  void keep_until_departed(Slab<std::byte> memory, const std::atomic<std::uint32_t>& departed,
                           std::uint32_t local_size);
  /// Gives back what can be given back now.
  void sweep() noexcept;

  /// One split at a time: two would choose the same slot. Gives whether there was none.
  bool begin_split() noexcept { return !std::exchange(is_splitting_, true); }
  void end_split() noexcept { is_splitting_ = false; }

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

  TeamCore* slots_[TeamArea::kSlots] = {};
  std::vector<Kept> kept_;
  std::vector<TeamObserver*> observers_;
  bool is_splitting_ = false;
  std::uint32_t count_ = 0;  // of identities made here
};

}  // namespace coracle::internals
