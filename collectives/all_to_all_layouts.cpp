// all_to_all of scattered blocks: on a node's own team straight from their layouts to the others'
// (all_to_all_parts.cpp); elsewhere, and where short ones are all alike, the blocks are packed, exchanged as bytes and
// unpacked.
#include <algorithm>
#include <optional>
#include <vector>

#include "collectives/data/arguments.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/parts/member_blocks.hpp"
#include "runtime/rank/memory_domain.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {
namespace {

template <class Byte>
Blocks packed_blocks(const MemberBlocks<Byte>& blocks) {
  if (blocks.alike()) return {blocks.members(), blocks.bytes_of(0)};
  std::vector<std::size_t> bytes(blocks.members());
  for (std::uint32_t member = 0; member < blocks.members(); ++member) bytes[member] = blocks.bytes_of(member);
  return {bytes, 1};
}

/// Blocks that lie in a row anyhow are exchanged where they lie; of others `room` gets memory.
template <class Byte>
std::span<Byte> packed_memory(const MemberBlocks<Byte>& blocks, std::size_t bytes, std::optional<Scratch>& room) {
  if (blocks.alike() && blocks.first().layout.is_contiguous())
    return {static_cast<Byte*>(blocks.first().origin) + blocks.first().layout.first_byte(), bytes};
  return room.emplace(bytes).span();
}

Task<> copy_packed(Team& team, SourceBlocks source, TargetBlocks target, std::source_location where) {
  const Preparation preparation(team, "all_to_all");
  check_members(team, source, target);
  const Blocks sent = packed_blocks(source);
  const Blocks received = packed_blocks(target);
  std::optional<Scratch> packed;
  std::optional<Scratch> unpacked;
  const auto from = packed_memory(source, sent.total(), packed);
  const auto to = packed_memory(target, received.total(), unpacked);
  if (packed)
    for (std::uint32_t member = 0; member < team.size(); ++member)
      read_part(source.of(member), 0, sent.of(packed->span(), member));
  co_await all_to_all_bytes(team, from, sent, to, received, source.alike(), Algorithm::automatic, where);
  if (unpacked)
    for (std::uint32_t member = 0; member < team.size(); ++member)
      write_part(target.of(member), 0, received.of(unpacked->span(), member));
}

Task<> exchange_alike(Team& team, ScatteredSource source, ScatteredTarget target, std::source_location where) {
  const SourceBlocks sources(team.size(), source);
  const TargetBlocks targets(team.size(), target);
  check_block_fits(0, source);
  check_block_fits(0, target);
  const std::size_t bytes = sources.bytes_of(0) * team.size();
  const bool is_straight = copies_straight(team) && !exchanges_at_once(team, bytes);
  const CollectiveCall call{Called::all_to_all, bytes, CollectiveCall::kNoRoot, where};
  if (is_straight || any_on_device(team, sources, targets))
    co_await all_to_all_parts(team, sources, targets, call);
  else
    co_await copy_packed(team, sources, targets, where);
}

/// Who has any hears of it, also where the team is broken.
template <class Scattered>
bool on_device_any(const Team& team, std::span<const Scattered> blocks) {
  const MemoryDomain* devices = team.rank().core().device_memory();
  return devices != nullptr && std::any_of(blocks.begin(), blocks.end(), [&](const Scattered& block) {
           return block.layout.packed_bytes(block.count) > 0 &&
                  devices->on_device(block.origin, block.layout, block.count);
         });
}

}  // namespace

bool copies_straight(const Team& team) {
  return team.nodes().count() == 1 && within::reaches(team);
}

Task<> Team::all_to_all(ScatteredSource source, ScatteredTarget target, Where where) {
  return exchange_alike(*this, source, target, where);
}

Task<> Team::all_to_all_w(std::span<const ScatteredSource> sources, std::span<const ScatteredTarget> targets,
                          Where where) {
  std::optional<Preparation> preparation;
  if (!on_device_any(*this, sources) && !on_device_any(*this, targets)) preparation.emplace(*this, "all_to_all_v");
  const std::vector<MessageSource> listed_sources = listed<const std::byte>(sources);
  const std::vector<MessageTarget> listed_targets = listed<std::byte>(targets);
  const SourceBlocks from(listed_sources);
  const TargetBlocks to(listed_targets);
  if (nodes().count() == 1 || any_on_device(*this, from, to))
    co_await all_to_all_parts(*this, from, to,
                              {Called::all_to_all_v, CollectiveCall::kAnyBytes, CollectiveCall::kNoRoot, where});
  else
    co_await copy_packed(*this, from, to, where);
}

}  // namespace coracle::internals
