// Each kind of verdict is looked for in turn, the most telling first; whom one explains the next ones leave alone.
#include "runtime/insight/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "runtime/insight/wait_graph.hpp"
#include "runtime/insight/wait_words.hpp"

namespace coracle::internals::insight {
namespace {

using Kind = HangVerdict::Kind;
using Ranks = std::vector<std::uint32_t>;

void add_once(std::vector<std::string>& places, const std::string& place) {
  if (!place.empty() && std::ranges::find(places, place) == places.end()) places.push_back(place);
}

class Search {
 public:
  explicit Search(const WaitGraph& graph) : graph_(graph), told_(graph.size()) {}

  std::vector<HangVerdict> all() {
    find_mismatches();
    find_rings_of_messages();
    find_stopped();
    find_collectives();
    find_rings();
    find_ended();
    find_nobody();
    find_running();
    return std::move(verdicts_);
  }

 private:
  void find_mismatches();
  void find_rings_of_messages();
  void find_stopped();
  void find_collectives();
  void find_rings();
  void find_ended();
  void find_nobody();
  void find_running();

  bool is_open(std::uint32_t rank) const { return graph_.is_stuck(rank) && !told_[rank]; }
  HangVerdict make(Kind kind, Ranks culprits, Ranks waiting, std::string sentence);
  void add(HangVerdict verdict);
  /// Stuck ranks that come to one of `sources` by what they await, those left out.
  Ranks behind(const Ranks& sources, bool stuck_only) const;
  void add_ring(const Ranks& ring);
  void explain_collective(const TeamProgress& team, const Ranks& members_in);
  bool explain_teams(const Ranks& ring);
  std::string sender_text(const RankState& receiver, const Unreceived& message) const;

  const WaitGraph& graph_;
  std::vector<bool> told_;  // of the ranks that some verdict explains
  std::vector<HangVerdict> verdicts_;
};

HangVerdict Search::make(Kind kind, Ranks culprits, Ranks waiting, std::string sentence) {
  HangVerdict verdict;
  verdict.kind = kind;
  verdict.culprits = std::move(culprits);
  verdict.waiting = std::move(waiting);
  verdict.sentence = std::move(sentence);
  for (const std::uint32_t rank : verdict.culprits) add_once(verdict.places, place_of(graph_, rank));
  for (const std::uint32_t rank : verdict.waiting) add_once(verdict.places, place_of(graph_, rank));
  return verdict;
}

/// Whoever waits for those that are explained is explained, too.
void Search::add(HangVerdict verdict) {
  for (const std::uint32_t rank : verdict.culprits) told_[rank] = true;
  for (const std::uint32_t rank : verdict.waiting) told_[rank] = true;
  Ranks sources = verdict.culprits;
  sources.insert(sources.end(), verdict.waiting.begin(), verdict.waiting.end());
  const Ranks more = behind(sources, verdict.is_certain());
  for (const std::uint32_t rank : more) told_[rank] = true;
  verdict.waiting.insert(verdict.waiting.end(), more.begin(), more.end());
  std::ranges::sort(verdict.waiting);
  const auto again = std::ranges::unique(verdict.waiting);
  verdict.waiting.erase(again.begin(), again.end());
  verdicts_.push_back(std::move(verdict));
}

Ranks Search::behind(const Ranks& sources, bool stuck_only) const {
  std::set<std::uint32_t> reached(sources.begin(), sources.end());
  Ranks found;
  for (bool more = true; more;) {
    more = false;
    for (std::uint32_t rank = 0; rank < graph_.size(); ++rank) {
      if (reached.contains(rank) || told_[rank]) continue;
      if (stuck_only ? !graph_.is_stuck(rank) : !graph_.is_still(rank)) continue;
      const Ranks awaited = graph_.awaited(rank);
      if (!std::ranges::any_of(awaited, [&](std::uint32_t each) { return reached.contains(each); })) continue;
      reached.insert(rank);
      found.push_back(rank);
      more = true;
    }
  }
  std::ranges::sort(found);
  return found;
}

/// " at y.cpp:9" where the sender of `message` still waits for its being received.
std::string Search::sender_text(const RankState& receiver, const Unreceived& message) const {
  for (const Wait& wait : graph_.state(message.rank).waits.waits)
    if (wait.kind == WaitKind::send && wait.peer == static_cast<std::int32_t>(receiver.rank) &&
        wait.tag == message.tag && wait.team == message.team)
      return at_place(place_of(graph_.state(message.rank), wait));
  return "";
}

void Search::find_mismatches() {
  for (std::uint32_t rank = 0; rank < graph_.size(); ++rank) {
    if (!is_open(rank)) continue;
    const RankState& state = graph_.state(rank);
    for (const Wait& wait : state.waits.waits) {
      if (wait.kind != WaitKind::receive || !is_open(rank)) continue;
      const auto is_near = [&wait](const Unreceived& message) {
        if (message.team != wait.team) return false;
        const bool same_source = wait.peer == static_cast<std::int32_t>(message.rank);
        return same_source != (wait.tag == message.tag) && (same_source || wait.peer >= 0) && wait.tag != Wait::kAnyTag;
      };
      const auto found = std::ranges::find_if(state.waits.unreceived, is_near);
      if (found == state.waits.unreceived.end() || found->rank >= graph_.size()) continue;
      const std::string at = sender_text(state, *found);
      HangVerdict verdict =
          make(Kind::mismatch, {found->rank}, {rank},
               fmt::format("rank {} {}, but rank {} sends{} with tag {}{}", rank, wait_text(graph_, rank, wait),
                           found->rank, wait.peer == static_cast<std::int32_t>(found->rank) ? "" : " to it", found->tag,
                           at.empty() ? ": that message has come, and nobody receives it" : at));
      add_once(verdict.places, place_of(state, wait));
      add(std::move(verdict));
    }
  }
}

void Search::add_ring(const Ranks& ring) {
  std::string way = fmt::format("rank {}", ring.front());
  for (std::size_t i = 1; i < ring.size(); ++i) way += fmt::format(" waits for rank {}", ring[i]);
  HangVerdict verdict = make(Kind::cycle, ring, {}, fmt::format("{} waits for rank {}", way, ring.front()));
  const auto wait_in_ring = [&](std::size_t i) -> const Wait* {
    for (const Wait& wait : graph_.state(ring[i]).waits.waits)
      if (const Ranks to = graph_.awaited(ring[i], wait);
          std::ranges::find(to, ring[(i + 1) % ring.size()]) != to.end())
        return &wait;
    return nullptr;
  };
  const Wait* const first = wait_in_ring(0);
  bool alike = first != nullptr && (first->kind == WaitKind::send || first->kind == WaitKind::receive);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Wait* const wait = wait_in_ring(i);
    if (wait == nullptr) continue;
    alike = alike && wait->kind == first->kind && wait->tag == first->tag;
    const bool collective = wait->kind == WaitKind::collective;
    verdict.details.push_back(fmt::format(
        "rank {} {}", ring[i], collective ? doing_text(graph_, ring[i]) : wait_text(graph_, ring[i], *wait)));
    if (!collective) add_once(verdict.places, place_of(graph_.state(ring[i]), *wait));
  }
  if (alike)
    verdict.sentence += fmt::format(", {} in {}{}", ring.size() == 2 ? "both" : "all",
                                    first->kind == WaitKind::send ? "send" : "receive",
                                    first->tag == Wait::kAnyTag ? "" : fmt::format(", tag {}", first->tag));
  add(std::move(verdict));
}

void Search::find_rings_of_messages() {
  const auto in_collective = [this](std::uint32_t rank) {
    const Wait* const wait = main_wait(graph_.state(rank));
    return wait != nullptr && wait->kind == WaitKind::collective;
  };
  for (std::uint32_t rank = 0; rank < graph_.size(); ++rank) {
    if (!is_open(rank)) continue;
    const Ranks ring = graph_.ring_from(rank);
    if (ring.size() > 1 && std::ranges::none_of(ring, in_collective) && is_open(ring.front())) add_ring(ring);
  }
}

void Search::find_stopped() {
  for (std::uint32_t rank = 0; rank < graph_.size(); ++rank) {
    if (graph_.state(rank).doing != Doing::stopped) continue;
    const Ranks waiting = behind({rank}, false);
    if (waiting.empty()) continue;
    add(make(Kind::stopped_rank, {rank}, waiting,
             fmt::format("rank {} {}, and {} wait{} for it", rank, doing_text(graph_, rank), ranks_text(waiting),
                         waiting.size() == 1 ? "s" : "")));
  }
}

/// Rings over collectives of several teams: each has members that wait in another one.
bool Search::explain_teams(const Ranks& ring) {
  std::set<std::uint32_t> teams;
  for (const std::uint32_t rank : ring)
    for (const TeamProgress& team : graph_.state(rank).waits.teams)
      if (team.under_way && !team.finalizes && !graph_.missing(team).empty()) teams.insert(team.team);
  if (teams.size() < 2) return false;
  add_ring(ring);
  return true;
}

void Search::explain_collective(const TeamProgress& team, const Ranks& members_in) {
  const Ranks absent = graph_.missing(team);
  HangVerdict verdict = make(
      Kind::missing_member, absent, members_in,
      fmt::format("{} of {} {} in {}{}; {}", members_in.size(), team.size, members_in.size() == 1 ? "is" : "are",
                  call_text(team, graph_.size()), at_place(place_of(graph_, members_in.front())),
                  absent.size() == 1 ? fmt::format("rank {} {}", absent.front(), doing_text(graph_, absent.front()))
                                     : fmt::format("{} are not", ranks_text(absent))));
  constexpr std::size_t kTold = 8;
  for (std::size_t i = 0; absent.size() > 1 && i < std::min(absent.size(), kTold); ++i)
    verdict.details.push_back(fmt::format("rank {} {}", absent[i], doing_text(graph_, absent[i])));
  add(std::move(verdict));
}

void Search::find_collectives() {
  for (std::uint32_t rank = 0; rank < graph_.size(); ++rank) {
    if (!is_open(rank)) continue;
    if (const Ranks ring = graph_.ring_from(rank); ring.size() > 1 && explain_teams(ring)) continue;
    for (const TeamProgress& team : graph_.state(rank).waits.teams) {
      if (!team.under_way || team.finalizes || !is_open(rank) || graph_.missing(team).empty()) continue;
      Ranks members_in;
      for (std::uint32_t each = 0; each < graph_.size(); ++each)
        if (const TeamProgress* const theirs = graph_.progress(each, team.team);
            theirs != nullptr && theirs->under_way && theirs->number == team.number && graph_.is_stuck(each))
          members_in.push_back(each);
      explain_collective(team, members_in);
    }
  }
}

void Search::find_rings() {
  for (std::uint32_t rank = 0; rank < graph_.size(); ++rank) {
    if (!is_open(rank)) continue;
    const Ranks ring = graph_.ring_from(rank);
    const auto left = [this](std::uint32_t each) { return has_left(graph_.state(each)); };
    if (ring.size() > 1 && is_open(ring.front()) && std::ranges::none_of(ring, left)) add_ring(ring);
  }
}

/// Who waits for a rank whose program is over, or its process.
void Search::find_ended() {
  for (std::uint32_t rank = 0; rank < graph_.size(); ++rank) {
    const RankState& state = graph_.state(rank);
    if (state.doing != Doing::ended && !(has_left(state) && graph_.is_stuck(rank))) continue;
    Ranks waiting;
    for (std::uint32_t each = 0; each < graph_.size(); ++each) {
      if (!is_open(each) || has_left(graph_.state(each))) continue;
      const Ranks awaited = graph_.awaited(each);
      if (std::ranges::find(awaited, rank) != awaited.end()) waiting.push_back(each);
    }
    if (waiting.empty()) continue;
    add(make(Kind::ended_rank, {rank}, waiting,
             fmt::format("rank {} {}, but rank {} {}", waiting.front(), doing_text(graph_, waiting.front()), rank,
                         doing_text(graph_, rank))));
  }
}

/// What is left waits for nobody by name, or for those who do. Those that have left their functions wait for the
/// others.
void Search::find_nobody() {
  Ranks left;
  for (std::uint32_t rank = 0; rank < graph_.size(); ++rank)
    if (is_open(rank) && !has_left(graph_.state(rank))) left.push_back(rank);
  Ranks causes = left;
  std::erase_if(causes, [this](std::uint32_t rank) { return !graph_.awaited(rank).empty(); });
  if (causes.empty()) causes = left;
  if (causes.empty()) return;
  const Ranks waiting = behind(causes, true);
  HangVerdict verdict = make(Kind::nobody, causes, waiting,
                             fmt::format("rank {} {}, and nobody is left that could end that", causes.front(),
                                         doing_text(graph_, causes.front())));
  constexpr std::size_t kTold = 8;
  causes.insert(causes.end(), waiting.begin(), waiting.end());
  for (std::size_t i = 1; i < causes.size() && verdict.details.size() < kTold; ++i)
    if (!has_left(graph_.state(causes[i])))
      verdict.details.push_back(fmt::format("rank {} {}", causes[i], doing_text(graph_, causes[i])));
  add(std::move(verdict));
}

void Search::find_running() {
  for (std::uint32_t rank = 0; rank < graph_.size(); ++rank) {
    const RankState& state = graph_.state(rank);
    if (state.doing != Doing::running || told_[rank] || state.place.empty()) continue;
    const Ranks waiting = behind({rank}, false);
    if (waiting.empty()) continue;
    HangVerdict verdict = make(Kind::running_rank, {rank}, waiting,
                               fmt::format("{} wait{} for rank {}, which {}", ranks_text(waiting),
                                           waiting.size() == 1 ? "s" : "", rank, doing_text(graph_, rank)));
    verdict.details.push_back(fmt::format("rank {} {}", waiting.front(), doing_text(graph_, waiting.front())));
    add(std::move(verdict));
  }
}

}  // namespace

std::string HangVerdict::key() const {
  std::string text = fmt::format("{} {}:", name_of(kind), fmt::join(culprits, ","));
  for (const std::string& place : places) text += ' ' + place;
  return text;
}

const char* name_of(HangVerdict::Kind kind) noexcept {
  constexpr std::array kNames{"cycle",      "mismatch", "missing member", "stopped rank",
                              "ended rank", "nobody",   "running rank"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::vector<HangVerdict> find_verdicts(std::span<const RankState> states, std::uint64_t stall_ms) {
  const WaitGraph graph(states, stall_ms);
  return Search(graph).all();
}

std::vector<std::uint32_t> ranks_to_locate(std::span<const RankState> states, std::uint64_t stall_ms) {
  const WaitGraph graph(states, stall_ms);
  std::set<std::uint32_t> wanted;
  for (std::uint32_t rank = 0; rank < graph.size(); ++rank) {
    if (!graph.is_still(rank)) continue;
    const RankState& state = states[rank];
    if (!state.waits.call.empty() && state.function.empty()) wanted.insert(rank);
    for (const std::uint32_t each : graph.awaited(rank)) {
      const RankState& other = states[each];
      if (other.doing == Doing::running && other.still_ms >= stall_ms && other.place.empty()) wanted.insert(each);
    }
  }
  return {wanted.begin(), wanted.end()};
}

std::string text_of(std::span<const HangVerdict> verdicts) {
  constexpr std::size_t kTold = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(verdicts.size(), kTold); ++i) {
    const HangVerdict& verdict = verdicts[i];
    text += fmt::format("{}: {}\n", verdict.is_certain() ? "deadlock" : "slow, or for ever", verdict.sentence);
    for (const std::string& line : verdict.details) text += fmt::format("  {}\n", line);
    if (verdict.kind != Kind::running_rank && !verdict.waiting.empty())
      text += fmt::format("  {} can't go on because of that\n", ranks_text(verdict.waiting));
  }
  if (verdicts.size() > kTold) text += fmt::format("... and {} more\n", verdicts.size() - kTold);
  return text;
}

std::string summary_of(std::span<const RankState> states) {
  constexpr std::size_t kTold = 32;
  const WaitGraph graph(states, 0);
  std::string text = "every rank goes on, as far as can be known:\n";
  for (std::uint32_t rank = 0; rank < std::min(states.size(), kTold); ++rank)
    text += fmt::format("  rank {} {}\n", rank, doing_text(graph, rank));
  if (states.size() > kTold) text += fmt::format("  ... and {} more ranks\n", states.size() - kTold);
  return text;
}

}  // namespace coracle::internals::insight
