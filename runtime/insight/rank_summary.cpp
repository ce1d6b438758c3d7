// Copies what is in use; bytes from elsewhere are checked.
#include "runtime/insight/rank_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/core/wire.hpp"

namespace coracle::internals {
namespace {

[[noreturn]] void malformed(const std::string& what) {
  throw Error(Errc::bad_input, "malformed message of a launcher: a summary with " + what);
}

template <class T>
void write_all(WireWriter& to, const std::vector<T>& entries) {
  const auto bytes = std::as_bytes(std::span(entries));
  to.write(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

template <class T>
std::vector<T> read_all(WireReader& from, std::size_t most) {
  const auto bytes = from.read<std::vector<std::byte>>();
  if (bytes.size() % sizeof(T) != 0 || bytes.size() / sizeof(T) > most)
    malformed(fmt::format("{} bytes", bytes.size()));
  std::vector<T> entries(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(entries.data(), bytes.data(), bytes.size());
  return entries;
}

void end_texts(std::vector<WaitLine>& lines) noexcept {
  for (WaitLine& line : lines) line.file.back() = line.call.back() = line.name.back() = '\0';
}

/// Texts end, numbers lead somewhere.
void check(RankSummary& rank, std::uint32_t size) {
  end_texts(rank.lines);
  for (const WaitLine& line : rank.lines) {
    if (line.group > WaitGroup::last) malformed("a wait of no kind");
  }
  for (CollectiveCalls& call : rank.calls) call.name.back() = '\0';
  if (rank.rank >= size) malformed(fmt::format("rank {}", rank.rank));
  for (const PeerTraffic& peer : rank.peers)
    if (peer.peer >= size) malformed(fmt::format("a peer {}", peer.peer));
  for (const CollectiveEntry& entry : rank.entries)
    if (entry.call > SummaryMemory::kCallsMax) malformed("a collective of no name");
}

}  // namespace

RankSummary read_summary(const SummaryMemory& memory, std::uint32_t rank, std::uint32_t node) {
  RankSummary read;
  read.rank = rank;
  read.node = node;
  read.facts = memory->facts;
  if (!read.was_there()) return read;
  const auto used = [](const auto& table, std::uint64_t count) {
    return std::vector(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(std::min(count, table.size())));
  };
  for (const auto& module : used(memory->modules, read.facts.modules))
    read.modules.emplace_back(module.data(), ::strnlen(module.data(), module.size()));
  read.lines = used(memory->lines, read.facts.lines);
  end_texts(read.lines);
  read.calls = used(memory->calls, read.facts.calls);
  read.entries = used(memory->entries, read.facts.entries);
  for (const PeerTraffic& peer : memory->peers)
    if (peer.is_used != 0) read.peers.push_back(peer);
  std::ranges::sort(read.peers, {}, &PeerTraffic::peer);
  return read;
}

void set_times(RankSummary& rank, const TickScale& scale) noexcept {
  SummaryFacts& facts = rank.facts;
  const std::uint64_t begin = facts.begin;
  const auto last = [&](std::uint64_t& time) { time = scale.nanoseconds(begin + time) - scale.nanoseconds(begin); };
  const auto waited = [&last](Waited& of) {
    last(of.time);
    last(of.longest);
  };
  last(facts.computing);
  last(facts.waiting);
  for (Waited& group : facts.groups) waited(group);
  for (WaitLine& line : rank.lines) waited(line.waited);
  for (CollectiveCalls& call : rank.calls) last(call.time);
  waited(facts.other_lines);
  last(facts.other_calls.time);
  for (CollectiveEntry& entry : rank.entries) {
    entry.begin = scale.nanoseconds(entry.begin);
    if (entry.end != 0) entry.end = scale.nanoseconds(entry.end);
  }
  facts.begin = scale.nanoseconds(begin);
  facts.last = scale.nanoseconds(facts.last);
}

void set_clock(RankSummary& rank, const NodeClock& clock) noexcept {
  if (!rank.was_there()) return;
  // A lifetime stays as long as the rank's own clock says, as what it consists of does: the clocks of nodes are
  // compared more coarsely.
  const std::uint64_t lifetime = rank.facts.last - rank.facts.begin;
  rank.facts.begin = clock.on_head(rank.facts.begin);
  rank.facts.last = rank.facts.begin + lifetime;
  for (CollectiveEntry& entry : rank.entries) {
    entry.begin = clock.on_head(entry.begin);
    if (entry.end != 0) entry.end = clock.on_head(entry.end);
  }
}

std::vector<std::byte> bytes_of(const RankSummary& rank) {
  WireWriter to;
  to.write(rank.rank);
  to.write(rank.facts);
  write_all(to, rank.lines);
  write_all(to, rank.peers);
  write_all(to, rank.calls);
  write_all(to, rank.entries);
  return to.take();
}

RankSummary summary_of(std::span<const std::byte> bytes, std::uint32_t size) {
  WireReader from(bytes);
  RankSummary rank;
  rank.rank = from.read<std::uint32_t>();
  rank.facts = from.read<SummaryFacts>();
  rank.lines = read_all<WaitLine>(from, SummaryMemory::kLinesMax);
  rank.peers = read_all<PeerTraffic>(from, SummaryMemory::kPeersMax);
  rank.calls = read_all<CollectiveCalls>(from, SummaryMemory::kCallsMax);
  rank.entries = read_all<CollectiveEntry>(from, SummaryMemory::kEntriesMax);
  check(rank, size);
  return rank;
}

}  // namespace coracle::internals
