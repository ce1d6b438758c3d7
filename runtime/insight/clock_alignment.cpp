// Answers, and the shortest ways of messages.
#include "runtime/insight/clock_alignment.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coracle::internals {

void NodeClock::add(When when, std::uint64_t sent_ns, std::uint64_t there_ns, std::uint64_t received_ns) noexcept {
  Answer& answer = when == When::beginning ? beginning_ : end_;
  const std::uint64_t width_ns = received_ns - sent_ns;
  if (width_ns >= answer.width_ns) return;
  answer = {there_ns, static_cast<std::int64_t>(there_ns - (sent_ns + width_ns / 2)), width_ns};
}

std::uint64_t NodeClock::on_head(std::uint64_t there_ns) const noexcept {
  if (!beginning_.is_any() && !end_.is_any()) return there_ns;
  const Answer& better = beginning_.width_ns <= end_.width_ns ? beginning_ : end_;
  // Of two answers close to each other the difference is that of their errors rather than a drift.
  constexpr std::uint64_t kApartNs = 1'000'000'000;
  const bool has_both = beginning_.is_any() && end_.is_any() && end_.there_ns > beginning_.there_ns + kApartNs;
  std::int64_t ahead_ns = better.ahead_ns;
  if (has_both) {
    const double passed = static_cast<double>(static_cast<std::int64_t>(there_ns - beginning_.there_ns));
    const double whole = static_cast<double>(end_.there_ns - beginning_.there_ns);
    ahead_ns = beginning_.ahead_ns +
               static_cast<std::int64_t>(static_cast<double>(end_.ahead_ns - beginning_.ahead_ns) * passed / whole);
  }
  return there_ns - static_cast<std::uint64_t>(ahead_ns);
}

std::optional<std::uint64_t> NodeClock::uncertainty_ns() const noexcept {
  const std::uint64_t width_ns = std::min(beginning_.width_ns, end_.width_ns);
  if (width_ns == ~std::uint64_t{0}) return std::nullopt;
  return width_ns / 2;
}

namespace {

/// Sender, receiver, number.
using MessageName = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;
struct MessageHash {
  std::size_t operator()(const MessageName& message) const noexcept {
    const auto [from, to, number] = message;
    return ((std::uint64_t{from} << 32 | to) ^ number * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;
  }
};

using Nodes = std::pair<std::uint32_t, std::uint32_t>;

/// The least time that a message took from one node to another; negative where clocks differ by more.
std::map<Nodes, std::int64_t> shortest_ways(const JobTrace& trace) {
  struct Sent {
    std::uint32_t node;
    std::uint64_t ns;
  };
  std::unordered_map<MessageName, Sent, MessageHash> sent;
  for (const RankEvents& rank : trace.ranks)
    for (const StoredEvent& event : rank.events)
      if (event.kind == CORACLE_SEND_BEGIN) sent[{rank.rank, event.peer, event.number}] = {rank.node, event.ticks};
  std::map<Nodes, std::int64_t> ways;
  for (const RankEvents& rank : trace.ranks) {
    for (const StoredEvent& event : rank.events) {
      if (event.kind != CORACLE_RECEIVE_BEGIN) continue;
      const auto found = sent.find({event.peer, rank.rank, event.number});
      if (found == sent.end() || found->second.node == rank.node) continue;
      const auto way_ns = static_cast<std::int64_t>(event.ticks - found->second.ns);
      const auto [way, is_new] = ways.emplace(Nodes{found->second.node, rank.node}, way_ns);
      if (!is_new) way->second = std::min(way->second, way_ns);
    }
  }
  return ways;
}

}  // namespace

std::uint64_t uncertainty_between(std::vector<std::uint64_t> nodes_ns) {
  if (nodes_ns.size() < 2) return 0;
  std::ranges::partial_sort(nodes_ns, nodes_ns.begin() + 2, std::greater());
  return nodes_ns[0] + nodes_ns[1];
}

void align_by_messages(JobTrace& trace) {
  const std::map<Nodes, std::int64_t> ways = shortest_ways(trace);
  std::map<std::uint32_t, std::int64_t> later_ns;  // by node
  // As shortest paths are found (Bellman and Ford): one node is moved, and then those that it sends to.
  bool is_moved = true;
  for (std::size_t round = 0; is_moved && round <= ways.size(); ++round) {
    is_moved = false;
    for (const auto& [nodes, way_ns] : ways) {
      const std::int64_t way_now_ns = way_ns + later_ns[nodes.second] - later_ns[nodes.first];
      if (way_now_ns > 0) continue;
      later_ns[nodes.second] += 1 - way_now_ns;
      is_moved = true;
    }
  }
  for (RankEvents& rank : trace.ranks) {
    const auto later = later_ns.find(rank.node);
    if (later == later_ns.end() || later->second == 0) continue;
    for (StoredEvent& event : rank.events) event.ticks += static_cast<std::uint64_t>(later->second);
  }
}

}  // namespace coracle::internals
