// all_to_all of scattered blocks: in one address space each copies its blocks straight from the others' layouts to its
// own, with nothing between; elsewhere the blocks are packed, exchanged as bytes and unpacked.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "collectives/data/arguments.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/node/local_collective.hpp"
#include "runtime/core/cpu.hpp"
#include "runtime/rank/memory_domain.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {
namespace {

/// One block for each member: a ScatteredSource or a ScatteredTarget. Local members of one address space read each
/// other's by address: it counts no references and holds no pointers to code.
template <class Scattered>
class ScatteredBlocks {
 public:
  /// `first` is member 0's; each of the others lies count * extent behind the one before.
  ScatteredBlocks(std::uint32_t members, const Scattered& first) : members_(members), first_(&first), alike_(true) {}
  /// One for each member.
  explicit ScatteredBlocks(std::span<const Scattered> each)
      : members_(static_cast<std::uint32_t>(each.size())), first_(each.data()), alike_(false) {}

  std::uint32_t members() const noexcept { return members_; }
  /// Whether all are of the same form, each behind the one before: then this is the first.
  bool alike() const noexcept { return alike_; }
  const Scattered& first() const noexcept { return *first_; }

  Scattered of(std::uint32_t member) const noexcept {
    if (!alike_) return first_[member];
    const auto distance = static_cast<std::int64_t>(member * first_->count) * first_->layout.extent();
    return {static_cast<Byte*>(first_->origin) + distance, first_->layout, first_->count};
  }
  std::size_t bytes_of(std::uint32_t member) const {
    const Scattered& block = alike_ ? *first_ : first_[member];
    std::uint64_t bytes = 0;
    const bool fits = !__builtin_mul_overflow(block.layout.size(), block.count, &bytes) && bytes >> 48 == 0;
    CORACLE_ASSERT(fits, "the block of member {} has {} repetitions of {} bytes, more than any memory", member,
                   block.count, block.layout.size());
    return bytes;
  }
  std::size_t bytes_of_all() const {
    if (alike_) return members_ * bytes_of(0);
    std::size_t bytes = 0;
    for (std::uint32_t member = 0; member < members_; ++member) bytes += bytes_of(member);
    return bytes;
  }

 private:
  using Byte = std::conditional_t<std::is_same_v<Scattered, ScatteredSource>, const std::byte, std::byte>;

  std::uint32_t members_;
  const Scattered* first_;
  bool alike_;
};

using SourceBlocks = ScatteredBlocks<ScatteredSource>;
using TargetBlocks = ScatteredBlocks<ScatteredTarget>;

/// In `sim` a copy takes as long as one of as many bytes in a row, out of this rank's memory.
Task<> let_time_pass(Rank& rank, std::uint32_t owner, std::size_t bytes) {
  const Scratch from(bytes);
  const Scratch to(bytes);
  std::memset(from.data(), 0, bytes);
  const auto address = reinterpret_cast<std::uint64_t>(from.data());
  co_await rank.get(Remote<std::byte>({address, owner, RemoteAddress::kWholeMemory}), to.span());
}

/// Past the caches only what is a row of bytes on both sides.
void copy_block(const ScatteredTarget& target, const ScatteredSource& source, std::size_t bytes, Copying how) {
  if (how == Copying::by_caches || !target.layout.is_contiguous() || !source.layout.is_contiguous())
    return copy(target, source, 0, bytes);
  const std::byte* const from = static_cast<const std::byte*>(source.origin) + source.layout.first_byte();
  streaming_copy({from, bytes}, static_cast<std::byte*>(target.origin) + target.layout.first_byte());
}

/// `target`: of the local member's block for this member.
Task<> copy_from(LocalCollective& local, Team& team, std::uint32_t other, ScatteredTarget target, std::size_t bytes,
                 Copying how) {
  const Round::Reading reading(local.round(), other);
  if (reading.address() == nullptr) co_await local.fail_with(other);
  const auto* theirs = reinterpret_cast<const SourceBlocks*>(reading.address());
  const std::uint32_t owner = local.round().node_area().rank_at(other);
  const std::size_t there = theirs->bytes_of(team.index());
  if (there != bytes) throw_sizes_differ(bytes, there, owner);
  if (!local.round().copies_at_once()) co_await let_time_pass(team.rank(), owner, bytes);
  copy_block(target, theirs->of(team.index()), bytes, how);
}

/// Whoever has come is served before those who have not.
Task<> copy_straight(LocalCollective& local, Team& team, const SourceBlocks& source, const TargetBlocks& target) {
  const TeamNodes& nodes = team.nodes();
  local.expose({reinterpret_cast<const std::byte*>(&source), sizeof source}, 1);
  copy(target.of(team.index()), source.of(team.index()), 0, source.bytes_of(team.index()));
  const Copying how = within::copying_of(local, source.bytes_of_all());
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
      co_await copy_from(local, team, other, target.of(member), target.bytes_of(member), how);
    }
    missing.resize(left);
  }
  co_await local.meet(2);
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

Task<> all_to_all_straight(Team& team, SourceBlocks source, TargetBlocks target, bool on_device,
                           std::source_location where) {
  const HostParticipation participation(on_device, team, call_of(team, source, where));
  check(team, source, target);
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
  const bool on_device = any_on_device(team, source) || any_on_device(team, target);  // then it is refused
  const bool small = source.alike() && exchanges_at_once(team, source.bytes_of(0) * team.size());
  return on_device || (copies_straight(team) && !small) ? all_to_all_straight(team, source, target, on_device, where)
                                                        : copy_packed(team, source, target, where);
}

}  // namespace

bool copies_straight(const Team& team) {
  return team.nodes().count() == 1 && within::can_expose(team);
}

Task<> Team::all_to_all(ScatteredSource source, ScatteredTarget target, Where where) {
  co_await exchange(*this, SourceBlocks(size(), source), TargetBlocks(size(), target), where);
}

Task<> Team::all_to_all_w(std::span<const ScatteredSource> sources, std::span<const ScatteredTarget> targets,
                          Where where) {
  return exchange(*this, SourceBlocks(sources), TargetBlocks(targets), where);
}

}  // namespace coracle::internals
