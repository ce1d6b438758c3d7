// Grouping the waits of many ranks.
#include "transports/sim/sim_rank.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <vector>

#include "runtime/core/scope.hpp"
#include "runtime/insight/verdict.hpp"
#include "runtime/job/wait_report.hpp"
#include "runtime/launch/wait_witness.hpp"
#include "runtime/team/collective_watchdog.hpp"

namespace coracle::internals::sim {
namespace {

std::string some(std::span<const std::uint32_t> ranks) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kShown); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kShown) text += fmt::format(" and {} more", ranks.size() - kShown);
  return text;
}

struct Group {
  std::size_t waits = 0;
  std::vector<std::uint32_t> ranks;  // each once, in order
};

class Grouping final : public WaiterVisitor {
 public:
  void look_at(SimRank& rank) {
    rank_ = rank.id();
    rank.loop().root_scope().visit(*this);
  }

  void visit(const Waiter& waiter, int) noexcept override {
    const auto& where = waiter.where();
    Group& group = groups_[{waiter.what(), file_name_of(where.file_name()), where.line()}];
    ++group.waits;
    if (group.ranks.empty() || group.ranks.back() != rank_) group.ranks.push_back(rank_);
  }

  std::string text() const {
    std::string text;
    for (const auto& [key, group] : groups_) {
      const auto& [what, file, line] = key;
      const std::string where = line == 0 ? "an unknown place" : fmt::format("{}:{}", file, line);
      text += fmt::format("  {} x {} at {}, on rank{} {}\n", group.waits, what, where,
                          group.ranks.size() == 1 ? "" : "s", some(group.ranks));
    }
    return text;
  }

 private:
  std::map<std::tuple<std::string, std::string, unsigned>, Group> groups_;
  std::uint32_t rank_ = 0;
};

/// Ranks that are not among those that wait have ended, one way or another.
std::string verdicts(std::span<SimRank* const> ranks, std::size_t size) {
  std::vector<insight::RankState> states(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    states[rank].rank = rank;
    states[rank].doing = insight::Doing::ended;
  }
  for (SimRank* rank : ranks) {
    states[rank->id()].doing = insight::Doing::waiting;
    states[rank->id()].waits = waits_of(rank->rank());
  }
  return insight::text_of(insight::find_verdicts(states));
}

}  // namespace

std::string explain_waits(std::span<SimRank* const> ranks, std::size_t size, std::span<const std::uint32_t> dead,
                          std::uint64_t now_ns) {
  std::string text = fmt::format(
      "deadlock: after {}.{:06} s of virtual time nothing is left that could happen, but {} of {} ranks still wait:\n",
      now_ns / 1'000'000'000, now_ns % 1'000'000'000 / 1000, ranks.size(), size);
  std::vector<Rank*> all;
  for (SimRank* rank : ranks) all.push_back(&rank->rank());
  if (const std::string misfit = find_misfit(all); !misfit.empty()) text += misfit + '\n';
  text += verdicts(ranks, size);
  Grouping grouping;
  for (SimRank* rank : ranks) grouping.look_at(*rank);
  text += grouping.text();
  if (!dead.empty()) {
    text += fmt::format(
        "rank{} {} died or stopped for ever before; a wait for a signal ends with the loss of a peer only if it names "
        "it: self.wait(signal, n, peer)\n",
        dead.size() == 1 ? "" : "s", some(dead));
  }
  constexpr std::size_t kDetailedRanks = 3;
  constexpr std::size_t kWaitsPerRank = 4;
  for (SimRank* rank : ranks.first(std::min(ranks.size(), kDetailedRanks))) {
    char buffer[4096];
    SignalText details(buffer, sizeof buffer);
    add_wait_report(details, static_cast<int>(rank->id()), rank->loop(), kWaitsPerRank);
    text += details.view();
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace coracle::internals::sim
