// Words for what ranks do.
#include "runtime/insight/wait_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace coracle::internals::insight {
namespace {

std::string tag_text(const Wait& wait) {
  return wait.tag == Wait::kAnyTag ? ", any tag" : fmt::format(", tag {}", wait.tag);
}

std::string peer_text(const Wait& wait, PeerNames names) {
  return names == PeerNames::another ? "another rank" : fmt::format("rank {}", wait.peer);
}

std::string from_text(const Wait& wait, PeerNames names) {
  return wait.peer < 0 ? "any rank" : peer_text(wait, names);
}

/// How much a wait tells: those that others bring about are told before those for what a rank does itself, and all of
/// them before that for the end of the job.
int weight(const RankState& state, const Wait& wait) {
  if (wait.of_library) return 0;
  const auto is_another = [](const TeamProgress& team) { return team.under_way && !team.finalizes; };
  switch (wait.kind) {
    case WaitKind::collective:
      return std::ranges::any_of(state.waits.teams, is_another) ? 4 : 1;
    case WaitKind::children:
    case WaitKind::loss:
      return 1;
    case WaitKind::inside:
      return 2;
    case WaitKind::timer:
    case WaitKind::io:
    case WaitKind::readiness:
    case WaitKind::device:
      return 3;
    default:
      return 4;
  }
}

const TeamProgress* collective_of(const RankState& state) {
  const TeamProgress* found = nullptr;
  for (const TeamProgress& team : state.waits.teams)
    if (team.under_way && (found == nullptr || found->finalizes)) found = &team;
  return found;
}

std::string running_text(const RankState& state) {
  const char* const what = state.in_system_call ? "is inside a system call" : "computes";
  const std::string function = state.function.empty() ? "" : fmt::format(" in {}", state.function);
  return fmt::format("{}{}{}", what, function, at_place(state.place));
}

}  // namespace

std::string ranks_text(std::span<const std::uint32_t> ranks) {
  constexpr std::size_t kShown = 6;
  if (ranks.empty()) return "no rank";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < ranks.size() && shown < kShown; ++shown) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    if (shown > 0) text += end == ranks.size() ? " and " : ", ";
    text += fmt::format("{}", ranks[i]);
    if (end - i >= 3) text += fmt::format(" to {}", ranks[end - 1]);
    i = end;
    if (shown + 1 == kShown && i < ranks.size()) text += fmt::format(" and {} more", ranks.size() - i);
  }
  return text;
}

/// As Teams::new_identity makes them.
std::string team_text(std::uint32_t identity, std::size_t job_size) {
  if (identity == 0) return "all ranks";
  const int count_bits = 31 - static_cast<int>(std::bit_width(job_size - 1));
  const std::uint32_t number = identity >> 1;
  return fmt::format("team {}.{}", number >> count_bits, number & ((std::uint32_t{1} << count_bits) - 1));
}

std::string at_place(const std::string& place) {
  return place.empty() ? "" : " at " + place;
}

std::string for_time(std::uint64_t milliseconds) {
  if (milliseconds == 0) return "";
  if (milliseconds < 10'000) return fmt::format(" for {}.{} s", milliseconds / 1000, milliseconds % 1000 / 100);
  return fmt::format(" for {} s", milliseconds / 1000);
}

const std::string& place_of(const RankState& state, const Wait& wait) {
  return wait.place.empty() ? state.place : wait.place;
}

const Wait* main_wait(const RankState& state) {
  const auto& waits = state.waits.waits;
  const auto found = std::ranges::max_element(waits, {}, [&state](const Wait& wait) { return weight(state, wait); });
  return found == waits.end() ? nullptr : &*found;
}

bool has_left(const RankState& state) {
  const auto tells = [&state](const Wait& wait) { return weight(state, wait) > 1; };
  return std::ranges::any_of(state.waits.teams, &TeamProgress::finalizes) &&
         std::ranges::none_of(state.waits.waits, tells);
}

std::string call_text(const TeamProgress& team, std::size_t job_size) {
  return fmt::format("{} #{} of {}", team.call, team.number, team_text(team.team, job_size));
}

std::string wait_text(const WaitGraph& graph, std::uint32_t rank, const Wait& wait, PeerNames names) {
  const RankState& state = graph.state(rank);
  const std::string in = state.function.empty() ? "" : fmt::format(" in {}", state.function);
  const std::string at = in + at_place(place_of(state, wait));
  switch (wait.kind) {
    case WaitKind::receive:
      return fmt::format("waits to receive from {}{}{}", from_text(wait, names), tag_text(wait), at);
    case WaitKind::send:
      return fmt::format("waits for {} to receive{}{}", from_text(wait, names), tag_text(wait), at);
    case WaitKind::call:
      return fmt::format("waits for its call of {}{}", peer_text(wait, names), at);
    case WaitKind::signal:
      return wait.peer < 0 ? fmt::format("waits for a signal{}", at)
                           : fmt::format("waits for a signal of {}{}", peer_text(wait, names), at);
    case WaitKind::children:
      return fmt::format("waits for what it has started itself{}", at);
    default:
      return fmt::format("waits ({}{}){}", wait.what, wait.peer < 0 ? "" : ", " + peer_text(wait, names), at);
  }
}

std::string doing_words(const WaitGraph& graph, std::uint32_t rank, PeerNames names) {
  const RankState& state = graph.state(rank);
  switch (state.doing) {
    case Doing::starting:
      return "has not come to coracle::run";
    case Doing::running:
      return running_text(state);
    case Doing::stopped:
      return "is stopped by a signal";
    case Doing::ended:
      return "has ended";
    case Doing::waiting:
      break;
  }
  const Wait* const wait = main_wait(state);
  const TeamProgress* const team = collective_of(state);
  if (wait == nullptr) return "waits";
  if (wait->kind == WaitKind::collective && team != nullptr) {
    if (team->finalizes) return "has left its function, and waits for the end of the job";
    return fmt::format("is in {}{}", call_text(*team, graph.size()), at_place(place_of(graph, rank)));
  }
  return wait_text(graph, rank, *wait, names);
}

std::string doing_text(const WaitGraph& graph, std::uint32_t rank) {
  const RankState& state = graph.state(rank);
  const bool has_time = state.doing == Doing::running || state.doing == Doing::stopped;
  return doing_words(graph, rank) + (has_time ? for_time(state.still_ms) : "");
}

std::string place_of(const WaitGraph& graph, std::uint32_t rank) {
  const RankState& state = graph.state(rank);
  if (state.doing != Doing::waiting) return state.place;
  const Wait* const wait = main_wait(state);
  if (wait == nullptr) return state.place;
  const TeamProgress* const team = collective_of(state);
  if (wait->kind == WaitKind::collective && team != nullptr && !team->place.empty()) return team->place;
  return place_of(state, *wait);
}

}  // namespace coracle::internals::insight
