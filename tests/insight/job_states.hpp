// States of ranks made by hand, for tests of verdicts.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/insight/rank_waits.hpp"

namespace coracle::internals::insight::test {

constexpr std::uint64_t kStallMs = 1000;
constexpr std::uint64_t kLongMs = 5000;
constexpr std::uint64_t kMomentMs = 10;

class Job {
 public:
  /// All wait, and for nothing yet.
  explicit Job(std::uint32_t size) : states_(size) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      states_[rank].rank = rank;
      states_[rank].doing = Doing::waiting;
      states_[rank].still_ms = kLongMs;
    }
  }

  RankState& rank(std::uint32_t rank) { return states_[rank]; }
  Wait& waits(std::uint32_t rank, WaitKind kind, int peer, std::string place) {
    Wait& wait = states_[rank].waits.waits.emplace_back();
    wait.kind = kind;
    wait.peer = peer;
    wait.what = "a wait";
    wait.place = std::move(place);
    return wait;
  }
  void message(std::uint32_t rank, WaitKind kind, int peer, std::uint64_t tag, std::string place) {
    Wait& wait = waits(rank, kind, peer, std::move(place));
    wait.team = 0;
    wait.tag = tag;
  }
  /// Has begun `number` collectives of `team`, and waits in the last one, or not.
  void collective(std::uint32_t rank, std::uint32_t team, std::uint64_t number, bool waits_in_it, std::string place,
                  std::vector<std::uint32_t> members = {}) {
    TeamProgress& progress = states_[rank].waits.teams.emplace_back();
    progress.team = team;
    progress.size = static_cast<std::uint32_t>(members.empty() ? states_.size() : members.size());
    progress.number = number;
    progress.under_way = waits_in_it;
    progress.call = "barrier";
    progress.place = place;
    progress.members = std::move(members);
    if (waits_in_it) waits(rank, WaitKind::collective, -1, std::move(place));
  }
  void runs(std::uint32_t rank, std::string place, std::uint64_t for_ms = kLongMs) {
    states_[rank].doing = Doing::running;
    states_[rank].still_ms = for_ms;
    states_[rank].place = std::move(place);
  }
  const std::vector<RankState>& states() const { return states_; }

 private:
  std::vector<RankState> states_;
};

}  // namespace coracle::internals::insight::test
