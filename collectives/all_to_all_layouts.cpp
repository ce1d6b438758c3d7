// all_to_all of scattered blocks: in one address space each copies its blocks straight from the others' layouts to its
// own, with nothing between; elsewhere the blocks are packed, exchanged as bytes and unpacked.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "collectives/all_to_all.hpp"
#include "collectives/data/host_memory.hpp"
#include "collectives/data/scattered_blocks.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/data/sizes.hpp"
#include "collectives/node/local_collective.hpp"
#include "runtime/rank/memory_domain.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {
namespace {

/// While one reads what a local member exposes.
class Reading {
 public:
  explicit Reading(Round& round) noexcept : round_(round) {}
  ~Reading() { round_.end_reading(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  Round& round_;
};

/// In `sim` a copy takes as long as one of as many bytes in a row, out of this rank's memory.
Task<> let_time_pass(Rank& rank, std::uint32_t owner, std::size_t bytes) {
  const Scratch from(bytes);
  const Scratch to(bytes);
  std::memset(from.data(), 0, bytes);
  const auto address = reinterpret_cast<std::uint64_t>(from.data());
  co_await rank.get(Remote<std::byte>({address, owner, RemoteAddress::kWholeMemory}), to.span());
}

/// `target`: of the local member's block for this member.
Task<> copy_from(LocalCollective& local, Team& team, std::uint32_t other, ScatteredTarget target, std::size_t bytes) {
  const auto* theirs = reinterpret_cast<const SourceBlocks*>(co_await local.begin_reading(other));
  const Reading reading(local.round());
  const std::uint32_t owner = local.round().node_area().rank_at(other);
  const std::size_t there = theirs->bytes_of(team.index());
  if (there != bytes) throw_sizes_differ(bytes, there, owner);
  if (!local.round().copies_at_once()) co_await let_time_pass(team.rank(), owner, bytes);
  copy(target, theirs->of(team.index()), 0, bytes);
}

/// Whoever has come is served before those who have not.
Task<> copy_straight(LocalCollective& local, Team& team, const SourceBlocks& source, const TargetBlocks& target) {
  const TeamNodes& nodes = team.nodes();
  local.expose({reinterpret_cast<const std::byte*>(&source), sizeof source}, 1);
  copy(target.of(team.index()), source.of(team.index()), 0, source.bytes_of(team.index()));
  std::vector<std::uint32_t> missing;
  for (std::uint32_t distance = 1; distance < local.count(); ++distance)
    missing.push_back((local.local_index() + distance) % local.count());
  while (!missing.empty()) {
    co_await local.wait(missing.front(), 1);
    std::size_t left = 0;
    for (const std::uint32_t other : missing) {
      if (!local.round().has_reached(other, 1)) {
        missing[left++] = other;
        continue;
      }
      co_await local.wait(other, 1);
      const std::uint32_t member = nodes.member(nodes.own(), other);
      co_await copy_from(local, team, other, target.of(member), target.bytes_of(member));
    }
    missing.resize(left);
  }
  local.round().publish(2);
  co_await local.wait_for_all(2);
}

template <class Scattered>
Blocks packed_blocks(const ScatteredBlocks<Scattered>& blocks) {
  if (blocks.alike()) return {blocks.members(), blocks.bytes_of(0)};
  std::vector<std::size_t> bytes(blocks.members());
  for (std::uint32_t member = 0; member < blocks.members(); ++member) bytes[member] = blocks.bytes_of(member);
  return {bytes, 1};
}

/// Blocks that lie in a row anyhow are exchanged where they lie; of others `room` gets memory.
template <class Byte, class Scattered>
std::span<Byte> packed_memory(const ScatteredBlocks<Scattered>& blocks, std::size_t bytes,
                              std::optional<Scratch>& room) {
  if (blocks.alike() && blocks.first().layout.is_contiguous())
    return {static_cast<Byte*>(blocks.first().origin) + blocks.first().layout.first_byte(), bytes};
  return room.emplace(bytes).span();
}

void check(const Team& team, const SourceBlocks& source, const TargetBlocks& target) {
  CORACLE_ASSERT(source.members() == team.size() && target.members() == team.size(),
                 "all_to_all: {} sources and {} targets for {} members", source.members(), target.members(),
                 team.size());
  const std::uint32_t own = team.index();
  CORACLE_ASSERT(source.bytes_of(own) == target.bytes_of(own),
                 "all_to_all: member {} sends itself a block of {} bytes, into one of {} bytes", own,
                 source.bytes_of(own), target.bytes_of(own));
}

Task<> copy_packed(Team& team, SourceBlocks source, TargetBlocks target, std::source_location where) {
  const Preparation preparation(team, "all_to_all");
  check(team, source, target);
  const Blocks sent = packed_blocks(source);
  const Blocks received = packed_blocks(target);
  std::optional<Scratch> packed;
  std::optional<Scratch> unpacked;
  const auto from = packed_memory<const std::byte>(source, sent.total(), packed);
  const auto to = packed_memory<std::byte>(target, received.total(), unpacked);
  if (packed)
    for (std::uint32_t member = 0; member < team.size(); ++member)
      pack(source.of(member), 0, sent.of(packed->span(), member));
  co_await all_to_all_bytes(team, from, sent, to, received, source.alike(), Algorithm::automatic, where);
  if (unpacked)
    for (std::uint32_t member = 0; member < team.size(); ++member)
      unpack(received.of(to, member), 0, target.of(member));
}

CollectiveCall call_of(const Team& team, const SourceBlocks& source, std::source_location where) {
  const bool alike = source.alike();
  return {alike ? Called::all_to_all : Called::all_to_all_v,
          alike ? source.bytes_of(0) * team.size() : CollectiveCall::kAnyBytes, CollectiveCall::kNoRoot, where};
}

Task<> all_to_all_straight(Team& team, SourceBlocks source, TargetBlocks target, std::source_location where) {
  team.core().check_whole("all_to_all");
  check(team, source, target);
  const Participation participation(team, call_of(team, source, where));
  LocalCollective local(team);
  Task<> part = copy_straight(local, team, source, target);
  co_await local.run(std::move(part));
}

template <class Scattered>
bool any_on_device(const Team& team, const ScatteredBlocks<Scattered>& blocks) {
  const MemoryDomain* devices = team.rank().core().device_memory();
  if (devices == nullptr) return false;
  for (std::uint32_t member = 0; member < blocks.members(); ++member) {
    const Scattered block = blocks.of(member);
    if (blocks.bytes_of(member) > 0 && devices->on_device(block.origin, block.layout, block.count)) return true;
  }
  return false;
}

Task<> exchange(Team& team, SourceBlocks source, TargetBlocks target, std::source_location where) {
  if (any_on_device(team, source) || any_on_device(team, target))
    return refuse_device(team, call_of(team, source, where));
  const bool shares_addresses = team.nodes().count() == 1 && LocalCollective::can_expose(team);
  const bool small = source.alike() && exchanges_at_once(team, source.bytes_of(0) * team.size());
  return shares_addresses && !small ? all_to_all_straight(team, source, target, where)
                                    : copy_packed(team, source, target, where);
}

}  // namespace

Task<> Team::all_to_all(ScatteredSource source, ScatteredTarget target, Where where) {
  co_await exchange(*this, SourceBlocks(size(), source), TargetBlocks(size(), target), where);
}

Task<> Team::all_to_all_w(std::span<const ScatteredSource> sources, std::span<const ScatteredTarget> targets,
                          Where where) {
  return exchange(*this, SourceBlocks(sources), TargetBlocks(targets), where);
}

}  // namespace coracle::internals
