// Flow control and the arena.
#include "runtime/team/node_area.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/resident.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/flag_wait.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team_core.hpp"

namespace coracle::internals {
namespace {

std::vector<std::uint32_t> ranks_of_own_node(const TeamCore& team) {
  const TeamNodes& nodes = team.nodes();
  std::vector<std::uint32_t> ranks(nodes.size_of(nodes.own()));
  for (std::uint32_t local_index = 0; local_index < ranks.size(); ++local_index)
    ranks[local_index] = team.member(nodes.member(nodes.own(), local_index));
  return ranks;
}

std::vector<NodeAreaPart*> parts_of_own_node(const JobRegion& region, const TeamCore& team, const TeamPlan& plan) {
  const TeamNodes& nodes = team.nodes();
  std::vector<NodeAreaPart*> parts(nodes.size_of(nodes.own()));
  for (std::uint32_t local_index = 0; local_index < parts.size(); ++local_index) {
    const std::uint32_t index = nodes.member(nodes.own(), local_index);
    std::byte* memory = region.segment(team.member(index)) + plan.offsets[index];
    parts[local_index] = reinterpret_cast<NodeAreaPart*>(memory + TeamPlan::kPartOffset);
  }
  return parts;
}

}  // namespace

NodeArea::NodeArea(Rank& rank, TeamCore& team, TeamPlan* plan)
    : rank_(rank),
      team_(team),
      local_size_(team.nodes().size_of(team.nodes().own())),
      local_index_(team.nodes().local_index_of(team.index())),
      of_world_(plan == nullptr),
      light_(rank.core().flag_waits().fences()),
      in_time_(rank.placement() == Placement::sim),
      spins_(rank.loop().spins() && !in_time_),
      by_kernel_(rank.core().region().header().kernel_copies && team.nodes().count() == 1),
      spin_for_last_(is_crowded()),
      first_rank_(team.member(team.nodes().member(team.nodes().own(), 0))),
      world_parts_(rank.core().region().node_area(first_rank_)),
      world_part_bytes_(rank.core().region().header().node_area_bytes) {
  if (plan != nullptr) {
    ranks_ = ranks_of_own_node(team);
    parts_ = parts_of_own_node(rank.core().region(), team, *plan);
    memory_ = std::move(plan->memory);
  }
  const std::uint64_t arena_bytes = of_world_ ? NodeAreaPart::kArenaBytes : plan->arena_bytes;
  const bool hands_rooms = local_size_ == 2 && spins_;
  const std::size_t room_bytes = hands_rooms ? HandedRooms::room_bytes_of(arena_bytes) : 0;
  const std::uint64_t rooms_bytes = HandedRooms::kRoomsOfEach * room_bytes;
  if (room_bytes > 0) rooms_ = HandedRooms(own().arena(), part(1 - local_index_).arena(), room_bytes);
  arena_ = RoundArena(own().arena(), arena_bytes, rooms_bytes);
  team.log().use(own().calls);
  make_parts_resident();
}

/// All that members write and look at in short collectives, of few in one process each the mappings of the others'
/// parts, too: or some of the first kRounds would wait for pages.
void NodeArea::make_parts_resident() noexcept {
  constexpr std::uint32_t kAllMax = 8;
  if (!of_world_ || in_time_) return;
  const bool shared = rank_.placement() != Placement::process;
  const auto make = [this](std::uint32_t local_index, Touch how) {
    auto* begin = reinterpret_cast<std::byte*>(&part(local_index));
    make_resident(begin, sizeof(NodeAreaPart));
    touch_pages(begin, sizeof(NodeAreaPart), how);
  };
  make(local_index_, Touch::write);
  if (shared || local_size_ > kAllMax) return;
  for (std::uint32_t other = 0; other < local_size_; ++other)
    if (other != local_index_) make(other, Touch::read);
}

NodeArea::~NodeArea() {
  if (of_world_) return;  // the region outlives it
  // acq_rel: whoever finds that all have departed comes after all that they did here.
  for (NodeAreaPart* part : parts_) part->departed.fetch_add(1, std::memory_order_acq_rel);
  auto& teams = rank_.local<Teams>();
  // Nobody may have awaited the signals that other nodes have raised for a team that broke.
  if (team_.broken() && team_.nodes().count() > 1 && local_index_ == 0)
    teams.keep_for_good(std::move(memory_));
  else
    teams.keep_until_departed(std::move(memory_), own().departed, local_size_);
}

bool NodeArea::reaches(const void* address, std::size_t bytes) const noexcept {
  const JobRegion& region = rank_.core().region();
  return region.shape().placement != Placement::process || region.contains(address, bytes);
}

std::uint64_t NodeArea::floor(bool look) noexcept {
  if (!look) return floor_;
  std::uint64_t least = retired_;
  for (std::uint32_t local_index = 0; local_index < local_size_; ++local_index)
    least = std::min(least, part(local_index).retired.value.load(std::memory_order_acquire));  // pairs with retire()
  return floor_ = least;
}

void NodeArea::check_whole() const {
  team_.check_whole("collective");
}

void NodeArea::retire_out_of_order(std::uint64_t number) noexcept {
  constexpr std::uint32_t kRounds = NodeAreaPart::kRounds;
  if (number <= retired_ || number > retired_ + kRounds) return;  // the latter only where the team broke meanwhile
  const auto bit_of = [](std::uint64_t round) { return std::uint64_t{1} << round % 64; };
  if (number != retired_ + 1) {
    retired_after_[number % kRounds / 64] |= bit_of(number);
    ++retired_behind_gap_;
    return;
  }
  retired_ = number;
  for (std::uint64_t next = number + 1; (retired_after_[next % kRounds / 64] & bit_of(next)) != 0; ++next) {
    retired_after_[next % kRounds / 64] &= ~bit_of(next);
    --retired_behind_gap_;
    retired_ = next;
  }
  tell_retired();
}

void NodeArea::wake(std::uint64_t sleepers) noexcept {
  for (; sleepers != 0; sleepers &= sleepers - 1)
    for (auto local_index = static_cast<std::uint32_t>(std::countr_zero(sleepers)); local_index < local_size_;
         local_index += 64)
      if (local_index != local_index_) rank_.core().wake(rank_at(local_index));
}

std::byte* NodeArea::allocate(std::uint64_t number, std::size_t bytes) {
  // So that rooms are used again while they are in the caches, and pages that nobody has touched yet are left alone;
  // not each time, since others write what is looked at: when copying has taken longer than a look at all of them.
  constexpr std::size_t kManyAllocated = 64;
  constexpr std::size_t kBetweenLooks = 16;
  constexpr std::size_t kBytesPerLook = 16 * 1024;  // at one local member
  constexpr std::size_t kBytesBetweenLooksMax = 128 * 1024;
  const bool is_earliest = number == retired_ + 1;
  bytes_since_look_ += bytes;
  const bool is_time = (arena_.taken() >= kManyAllocated && arena_.taken() % kBetweenLooks == 0) ||
                       bytes_since_look_ >= std::min(kBytesPerLook * local_size_, kBytesBetweenLooksMax);
  if (is_time) bytes_since_look_ = 0;
  for (const bool look : {is_time, true}) {
    const std::uint64_t over = floor(look);
    std::byte* room = is_earliest ? arena_.take_for_earliest(number, bytes, over) : arena_.take(number, bytes, over);
    if (room != nullptr) return room;
  }
  return nullptr;
}

}  // namespace coracle::internals
