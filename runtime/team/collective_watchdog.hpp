// CollectiveWatchdog: finds out why collectives stand still. Signatures (CollectiveLog) tell of wrong calls when
// members hear of each other; members that wait for what the others will never do hear nothing. So a member whose
// collectives have stood still for a while asks its right neighbour in the team what that one has called: of a team
// whose members have not all called the same some neighbours differ.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/core/timer.hpp"
#include "runtime/job/collective_log.hpp"
#include "runtime/rank/peer_event.hpp"

namespace coracle::internals {

class Message;
class Rank;
class TeamCore;

/// Of one rank; its thread only.
class CollectiveWatchdog final : private Timer {
 public:
  explicit CollectiveWatchdog(Rank& rank) noexcept;
  ~CollectiveWatchdog();
  CollectiveWatchdog(const CollectiveWatchdog&) = delete;
  CollectiveWatchdog& operator=(const CollectiveWatchdog&) = delete;

  /// Where the program is whenever it calls a collective: of an interface, which keeps it up to date. Outlives this.
  void use_program_call(const ProgramCall& call) noexcept { program_call_ = &call; }
  const ProgramCall& program_call() const noexcept { return *program_call_; }
  /// A collective has begun.
  void look_on() {
    if (!on_duty_) [[unlikely]]
      begin();
  }
  /// The calls of `peer` differ from this member's, or may do so: finds out, and breaks the team if they do. For
  /// whoever can't wait: from inside handlers and pollers, too.
  void doubt(const TeamCore& team, std::uint32_t peer);
  /// The same for whom its signature tells: and no barrier between nodes ends at this member before `peer` has answered
  /// (TeamCore::take_at_odds).
  void differs(TeamCore& team, std::uint32_t peer);
  /// As doubt(); returns when the team is broken, or the calls fit each other. Throws Error (peer_lost) when the peer
  /// is lost before it has answered.
  static Task<> compare(Rank& rank, std::uint32_t team, std::uint32_t peer);

 private:
  struct Asked {
    PeerEvent answered;
    std::vector<CallWords> calls;
  };

  void begin();
  void fire() noexcept override;
  static Task<> compare_later(Rank& rank, std::uint32_t team, std::uint32_t peer);
  static void on_asked(Rank& rank, const Message& message);
  static void on_told(Rank& rank, const Message& message);

  static constexpr ProgramCall kNone{};

  Rank& rank_;
  const ProgramCall* program_call_ = &kNone;
  bool on_duty_;
  std::uint64_t interval_ns_ = 0;
  std::uint64_t last_ticket_ = 0;
  std::uint32_t finalize_turn_ = 0;
  std::map<std::uint64_t, Asked*> asked_;
  std::set<std::uint32_t> in_doubt_;  // teams of which somebody is asked
};

/// What the members of any team of these ranks, which lie in one process, have called and does not fit; or "".
std::string find_misfit(std::span<Rank* const> ranks);

}  // namespace coracle::internals
