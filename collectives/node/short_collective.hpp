// ShortCollective: a collective of short data on a team's only node, in one step: members give their data, look at what
// others have given, and are done. A plain function does it, if what it awaits comes while it looks, as it mostly does
// where each rank has a core; a coroutine does the rest only where this member has to wait for longer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/data/arguments.hpp"
#include "collectives/node/local_collective.hpp"
#include "runtime/core/task.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Begins when it is made, as a coroutine of the collective would: then `if (!collective.try_finish()) co_await
/// collective.finish();` ends it. Lives until it has ended; one that is destroyed by an exception breaks the team. A
/// member's local index is its index in the team.
///
/// `Kind` says what is given and taken; its members are called in this order:
///   void check(const Team&)                       asserts what the caller must keep to, if it has this;
///   bool gives(LocalCollective&)                  whether this member gives anything, and
///   given()                                       what: bytes (std::span<const std::byte>), or what gives
///                                                 itself as LocalCollective gives them (GivenParts);
///   kAwaitsAll                                    whether it looks at what all others give; if not,
///   bool awaits(LocalCollective&, local_index)    at what which of them, and if it has this,
///   bool awaits_all(LocalCollective&)             whether these are all;
///   bool take(LocalCollective&)                   the rest, once all those have given; false: that takes virtual time,
///                                                 or has to wait,
///   Task<> take_in_time(LocalCollective&, std::uint64_t sequence)
///                                                 and is done here (only of kinds whose take() gives false).
template <class Kind>
class ShortCollective {
 public:
  /// Throws what a HostParticipation throws; `is_on_device`: whether any buffer lies in a GPU's memory.
  ShortCollective(bool is_on_device, Team& team, const CollectiveCall& call, const Kind& kind)
      : participation_(is_on_device, prefetched(team, given_bytes(kind)), call), local_(team), kind_(kind) {
    if constexpr (requires { kind.check(team); }) kind.check(team);
  }

  /// Goes as far as it can without suspending; true: it has ended. Throws Error where members' calls differ. Once.
  bool try_finish() {
    if (!local_.round().is_open()) return false;
    if (kind_.gives(local_)) {
      if (!try_give()) return false;
      has_given_ = true;
    }
    if (awaits_all()) local_.spin_for_last();
    return have_come() && take();
  }

  /// The rest, where try_finish() has given false.
  Task<> finish() {
    Round& round = local_.round();
    if (!round.is_open()) co_await round.open();
    if (!has_given_ && kind_.gives(local_)) co_await give();
    has_awaited_ = true;
    for (std::uint32_t other = 0; other < local_.count(); ++other)
      if (awaits(other) && !round.has_reached(other, 1)) co_await round.reached(other, 1);
    if constexpr (requires { kind_.take_in_time(local_, std::uint64_t{}); }) {
      if (!take()) co_await kind_.take_in_time(local_, participation_.sequence());
    } else {
      take();
    }
  }

 private:
  static std::size_t given_bytes(const Kind& kind) noexcept {
    if constexpr (requires { kind.given().bytes(); })
      return kind.given().bytes();
    else
      return kind.given().size();
  }
  static Team& prefetched(Team& team, std::size_t bytes) noexcept {
    team.node_area().prefetch_next(bytes);
    return team;
  }
  bool awaits_all() {
    if constexpr (requires { kind_.awaits_all(local_); }) return kind_.awaits_all(local_);
    return Kind::kAwaitsAll;
  }
  bool try_give() {
    if constexpr (requires { kind_.given().try_give(local_); })
      return kind_.given().try_give(local_);
    else
      return local_.try_give(kind_.given());
  }
  Task<> give() {
    if constexpr (requires { kind_.given().give(local_); })
      return kind_.given().give(local_);
    else
      return local_.give(kind_.given());
  }
  bool awaits(std::uint32_t other) {
    if constexpr (Kind::kAwaitsAll)
      return other != local_.local_index();
    else
      return kind_.awaits(local_, other);
  }
  bool have_come() {
    for (std::uint32_t other = 0; other < local_.count(); ++other) {
      if (!awaits(other)) continue;
      has_awaited_ = true;
      if (!local_.round().has_come(other)) return false;
    }
    return true;
  }
  bool take() {
    if (!kind_.take(local_)) return false;
    participation_.end();
    local_.round().node_area().note_round(has_awaited_);
    return true;
  }

  HostParticipation participation_;
  LocalCollective local_;
  Kind kind_;
  bool has_given_ = false;
  bool has_awaited_ = false;
};

/// All of one.
template <class Kind>
Task<> short_collective(bool is_on_device, Team& team, CollectiveCall call, Kind kind) {
  ShortCollective<Kind> collective(is_on_device, team, call, kind);
  if (!collective.try_finish()) co_await collective.finish();
}
/// Of who is no coroutine; `run`: a RunTask.
template <class Kind, class Run>
void short_collective_blocking(bool is_on_device, Team& team, const CollectiveCall& call, const Kind& kind, Run run) {
  if (run.keeps()) return run(short_collective(is_on_device, team, call, kind));
  ShortCollective<Kind> collective(is_on_device, team, call, kind);
  if (!collective.try_finish()) run(collective.finish());
}

}  // namespace coracle::internals
