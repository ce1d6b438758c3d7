// Adding up over ranks.
#include "runtime/insight/job_summary.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace coracle::internals {
namespace {

void add(Waited& to, const Waited& more) noexcept {
  to.time += more.time;
  to.waits += more.waits;
  to.longest = std::max(to.longest, more.longest);
}

template <std::size_t N>
void add(std::array<std::uint64_t, N>& to, const std::array<std::uint64_t, N>& more) noexcept {
  for (std::size_t i = 0; i < N; ++i) to[i] += more[i];
}

void add_times(JobSummary& job, const RankSummary& rank) {
  job.lifetime.add(rank.rank, lifetime_of(rank));
  job.computing.add(rank.rank, rank.facts.computing);
  job.waiting.add(rank.rank, rank.facts.waiting);
  job.unexplained.add(rank.rank, unexplained_of(rank));
  for (std::size_t group = 0; group < kWaitGroups; ++group) {
    job.groups[group].add(rank.rank, rank.facts.groups[group].time);
    job.waits[group] += rank.facts.groups[group].waits;
  }
}

std::vector<JobLine> lines_of(const JobSummaries& all) {
  std::map<std::tuple<std::string, std::uint32_t, std::string, WaitGroup, std::string>, JobLine> lines;
  for (const RankSummary& rank : all.ranks) {
    for (const WaitLine& line : rank.lines) {
      JobLine& sum = lines[{line.file.data(), line.line, line.call.data(), line.group, line.name.data()}];
      const Waited before = sum.line.waited;
      sum.line = line;
      sum.line.waited = before;
      add(sum.line.waited, line.waited);
      if (line.waited.time < sum.worst_ns) continue;
      sum.worst_ns = line.waited.time;
      sum.worst_rank = rank.rank;
    }
  }
  std::vector<JobLine> sorted;
  sorted.reserve(lines.size());
  for (const auto& [key, line] : lines) sorted.push_back(line);
  std::ranges::stable_sort(sorted, std::greater(), [](const JobLine& line) { return line.line.waited.time; });
  return sorted;
}

void add_traffic(JobSummary& job, const RankSummary& rank) {
  for (const PeerTraffic& peer : rank.peers) {
    job.pairs.push_back({rank.rank, peer.peer, peer.count, peer.bytes});
    add(job.totals.count, peer.count);
    add(job.totals.bytes, peer.bytes);
  }
  for (JobPair* const to : {&job.totals, &job.other_pairs}) {
    add(to->count, rank.facts.other_peers.count);
    add(to->bytes, rank.facts.other_peers.bytes);
  }
}

std::vector<CollectiveCalls> calls_of(const JobSummaries& all) {
  std::map<std::string, CollectiveCalls> calls;
  for (const RankSummary& rank : all.ranks) {
    for (const CollectiveCalls& call : rank.calls) {
      CollectiveCalls& sum = calls[call.name.data()];
      sum.name = call.name;
      sum.calls += call.calls;
      sum.time += call.time;
    }
  }
  std::vector<CollectiveCalls> sorted;
  sorted.reserve(calls.size());
  for (const auto& [name, call] : calls) sorted.push_back(call);
  std::ranges::stable_sort(sorted, std::greater(), &CollectiveCalls::time);
  return sorted;
}

}  // namespace

void Spread::add(std::uint32_t rank, std::uint64_t value) noexcept {
  if (ranks == 0 || value < min) min = value, min_rank = rank;
  if (ranks == 0 || value > max) max = value, max_rank = rank;
  sum += value;
  ++ranks;
}

std::uint64_t lifetime_of(const RankSummary& rank) noexcept {
  return rank.facts.last - rank.facts.begin;
}

std::uint64_t unexplained_of(const RankSummary& rank) noexcept {
  std::uint64_t booked = 0;
  for (const Waited& group : rank.facts.groups) booked += group.time;
  return rank.facts.waiting - std::min(booked, rank.facts.waiting);
}

JobSummary add_up(const JobSummaries& all) {
  JobSummary job;
  job.size = all.size;
  job.nodes = all.nodes;
  job.is_virtual = all.is_virtual;
  job.uncertainty_ns = all.uncertainty_ns;
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t last = 0;
  for (const RankSummary& rank : all.ranks) {
    if (!rank.was_there()) continue;
    ++job.ranks;
    if (rank.facts.has_ended == 0) ++job.cut;
    first = std::min(first, rank.facts.begin);
    last = std::max(last, rank.facts.last);
    add_times(job, rank);
    add_traffic(job, rank);
    add(job.other_lines, rank.facts.other_lines);
    add(job.pages, rank.facts.pages);
    add(job.page_bytes, rank.facts.page_bytes);
    job.page_uses += rank.facts.page_uses;
    job.page_hits += rank.facts.page_hits;
    job.other_calls += rank.facts.other_calls.calls;
    job.other_entries += rank.facts.other_entries;
  }
  job.duration_ns = last > first ? last - first : 0;
  job.lines = lines_of(all);
  job.calls = calls_of(all);
  job.late = late_ranks_of(all);
  return job;
}

ByteMatrix byte_matrix(const JobSummary& job, std::uint32_t width_max) {
  ByteMatrix matrix;
  matrix.width = std::min(job.size, width_max);
  matrix.bytes.resize(std::size_t{matrix.width} * matrix.width);
  const auto cell = [&](std::uint32_t from, std::uint32_t to) -> std::uint64_t& {
    const auto place = [&](std::uint32_t rank) { return std::uint64_t{rank} * matrix.width / job.size; };
    return matrix.bytes[place(from) * matrix.width + place(to)];
  };
  for (const JobPair& pair : job.pairs) {
    const auto of = [&pair](TrafficKind flow) { return pair.bytes[static_cast<std::size_t>(flow)]; };
    cell(pair.from, pair.to) += of(TrafficKind::message) + of(TrafficKind::collective) + of(TrafficKind::put);
    cell(pair.to, pair.from) += of(TrafficKind::get);
  }
  return matrix;
}

}  // namespace coracle::internals
