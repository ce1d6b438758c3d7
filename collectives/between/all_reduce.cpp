// all_reduce and reduce among a group. What is combined is always a range of consecutive positions with the range
// beside it, so that operations need not be commutative. Recursive halving and doubling: R. Thakur, R. Rabenseifner, W.
// Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 2005.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/choice/lanes.hpp"
#include "collectives/data/scratch.hpp"

namespace coracle::internals::between {
namespace {

enum Phase : std::uint32_t { kFold, kUnfold, kToRoot, kFirstLane, kBlocks = 16, kRing = 32 };

/// A power of two of positions, the core, and the others, each of which is folded into the position before it.
class Core {
 public:
  explicit Core(const Group& group)
      : size_(std::bit_floor(group.size())), folded_(group.size() - size_), position_(group.position()) {}
  std::uint32_t size() const noexcept { return size_; }
  bool is_folded() const noexcept { return position_ < 2 * folded_ && position_ % 2 == 1; }
  bool has_folded() const noexcept { return position_ < 2 * folded_ && position_ % 2 == 0; }
  /// This position's number in the core.
  std::uint32_t number() const noexcept { return position_ < 2 * folded_ ? position_ / 2 : position_ - folded_; }
  std::uint32_t position_of(std::uint32_t number) const noexcept {
    return number < folded_ ? 2 * number : number + folded_;
  }

 private:
  std::uint32_t size_;
  std::uint32_t folded_;
  std::uint32_t position_;
};

/// The ranges of bytes that a member of the core works on, level by level of the halving.
class Halves {
 public:
  struct Range {
    std::size_t begin;
    std::size_t end;
    std::span<std::byte> of(std::span<std::byte> values) const { return values.subspan(begin, end - begin); }
  };
  Halves(Range whole, std::size_t element_bytes) : element_bytes_(element_bytes) { ranges_[0] = whole; }

  /// The half that stays here, and the one that goes to the partner.
  std::pair<Range, Range> split(std::uint32_t level, bool lower) {
    const Range whole = ranges_[level];
    const std::size_t middle = whole.begin + (whole.end - whole.begin) / element_bytes_ / 2 * element_bytes_;
    const Range first{whole.begin, middle};
    const Range second{middle, whole.end};
    ranges_[level + 1] = lower ? first : second;
    return lower ? std::pair{first, second} : std::pair{second, first};
  }

 private:
  std::size_t element_bytes_;
  std::array<Range, 33> ranges_{};
};

/// Combines what a partner sent with what is here, in the order of their positions.
void combine_with(std::span<std::byte> own, const std::byte* other, bool other_is_before, const Reduction& reduction) {
  const std::byte* left = other_is_before ? other : own.data();
  const std::byte* right = other_is_before ? own.data() : other;
  reduction.combine(left, right, own.data(), own.size());
}

Task<> fold(Group group, Core core, std::span<std::byte> values, const Reduction& reduction) {
  const Group folding = group.phase(kFold);
  if (core.is_folded()) co_await folding.send(group.position() - 1, 0, values);
  if (!core.has_folded()) co_return;
  const Scratch received(values.size());
  co_await folding.receive(group.position() + 1, 0, received.span());
  combine_with(values, received.data(), false, reduction);
}

Task<> unfold(Group group, Core core, std::span<std::byte> values) {
  const Group unfolding = group.phase(kUnfold);
  if (core.is_folded()) co_await unfolding.receive(group.position() - 1, 0, values);
  if (core.has_folded()) co_await unfolding.send(group.position() + 1, 0, values);
}

/// Recursive doubling among the core.
Task<> double_whole(Group group, Core core, std::span<std::byte> values, const Reduction& reduction) {
  const Scratch received(values.size());
  std::uint32_t step = 0;
  for (std::uint32_t distance = 1; distance < core.size(); distance *= 2, ++step) {
    const std::uint32_t partner = core.position_of(core.number() ^ distance);
    co_await exchange(group.phase(kFirstLane), step, partner, values, partner, received.span());
    combine_with(values, received.data(), (core.number() & distance) != 0, reduction);
  }
}

/// Recursive halving: afterwards this member of the core has the result of the last range of `halves`.
Task<> halve(Group group, Core core, std::span<std::byte> values, Halves& halves, const Reduction& reduction) {
  std::uint32_t level = 0;
  for (std::uint32_t distance = 1; distance < core.size(); distance *= 2, ++level) {
    const std::uint32_t partner = core.position_of(core.number() ^ distance);
    const bool lower = (core.number() & distance) == 0;
    const auto halves_now = halves.split(level, lower);
    const std::span<std::byte> kept = halves_now.first.of(values);
    const Scratch received(kept.size());
    co_await exchange(group, level, partner, halves_now.second.of(values), partner, received.span());
    combine_with(kept, received.data(), !lower, reduction);
  }
}

/// The way back: each pair completes its range.
Task<> double_back(Group group, Core core, std::span<std::byte> values, Halves& halves) {
  const auto levels = static_cast<std::uint32_t>(std::countr_zero(core.size()));
  for (std::uint32_t level = levels; level-- > 0;) {
    const std::uint32_t distance = std::uint32_t{1} << level;
    const std::uint32_t partner = core.position_of(core.number() ^ distance);
    const auto halves_now = halves.split(level, (core.number() & distance) == 0);
    co_await exchange(group, levels + level, partner, halves_now.first.of(values), partner,
                      halves_now.second.of(values));
  }
}

Halves::Range lane_of(std::span<std::byte> values, std::size_t element_bytes, std::uint32_t lane, std::uint32_t lanes) {
  const std::size_t elements = values.size() / element_bytes;
  return {elements * lane / lanes * element_bytes, elements * (lane + 1) / lanes * element_bytes};
}

Task<> halve_and_double(Group group, Core core, std::span<std::byte> values, Halves::Range part,
                        const Reduction& reduction) {
  Halves halves(part, reduction.element_bytes);
  co_await halve(group, core, values, halves, reduction);
  co_await double_back(group, core, values, halves);
}

/// The range that a member of the core has in the end; as halve() makes it.
Halves::Range last_range(Core core, std::uint32_t number, Halves::Range part, std::size_t element_bytes) {
  Halves halves(part, element_bytes);
  std::uint32_t level = 0;
  for (std::uint32_t distance = 1; distance < core.size(); distance *= 2, ++level)
    part = halves.split(level, (number & distance) == 0).first;
  return part;
}

Task<> halve_for_root(Group group, Core core, std::span<std::byte> values, Halves::Range part,
                      const Reduction& reduction, std::uint32_t root) {
  Halves halves(part, reduction.element_bytes);
  co_await halve(group, core, values, halves, reduction);
  if (group.position() == root) co_return;
  const Halves::Range mine = last_range(core, core.number(), part, reduction.element_bytes);
  co_await group.send(root, 64, mine.of(values));
}

/// Everything of a lane that others of the core have for the root.
Task<> collect(Group group, Core core, std::span<std::byte> values, Halves::Range part, std::size_t element_bytes) {
  std::vector<Task<>> parts;
  for (std::uint32_t number = 0; number < core.size(); ++number) {
    const std::uint32_t position = core.position_of(number);
    if (position == group.position()) continue;
    parts.push_back(group.receive(position, 64, last_range(core, number, part, element_bytes).of(values)));
  }
  co_await all_of(std::move(parts));
}

Task<> reduce_lane(Group group, Core core, std::span<std::byte> values, Halves::Range part, const Reduction& reduction,
                   std::uint32_t root) {
  if (!core.is_folded()) co_await halve_for_root(group, core, values, part, reduction, root);
  if (group.position() == root) co_await collect(group, core, values, part, reduction.element_bytes);
}

Task<> reduce_by_halving(Group group, std::span<std::byte> values, const Reduction& reduction, std::uint32_t root) {
  const Core core(group);
  co_await fold(group, core, values, reduction);
  const std::uint32_t lanes = lanes_for(values.size() / 2);
  co_await in_lanes(lanes, [&](std::uint32_t lane) {
    return reduce_lane(group.phase(kFirstLane + lane), core, values,
                       lane_of(values, reduction.element_bytes, lane, lanes), reduction, root);
  });
}

/// Binomial, counted from the root if the order is free, else from position 0, which then sends the result to the root.
Task<> reduce_by_tree(Group group, std::span<std::byte> values, const Reduction& reduction, std::uint32_t root) {
  const std::uint32_t size = group.size();
  const std::uint32_t top = reduction.commutative ? root : 0;
  const std::uint32_t me = (group.position() + size - top) % size;
  const Scratch received(values.size());
  std::uint32_t level = 0;
  for (std::uint32_t step = 1; step < size; step *= 2, ++level) {
    if (me % (2 * step) == step) {
      co_await group.send((me - step + top) % size, level, values);
      break;
    }
    if (me + step >= size) continue;
    co_await group.receive((me + step + top) % size, level, received.span());
    combine_with(values, received.data(), false, reduction);
  }
  if (top == root) co_return;
  if (group.position() == top) co_await group.phase(kToRoot).send(root, 0, values);
  if (group.position() == root) co_await group.phase(kToRoot).receive(top, 0, values);
}

/// Each reduces its own block, and then all gather them: no folding, whatever the number of positions.
Task<> all_reduce_by_blocks(Group group, std::span<std::byte> values, const Reduction& reduction) {
  const Blocks blocks = Blocks::divide(group.size(), values.size() / reduction.element_bytes, reduction.element_bytes);
  const std::span<std::byte> mine = blocks.of(values, group.position());
  const Scratch result(mine.size());
  const Group summing = group.phase(kBlocks).choosing(Algorithm::pairwise);
  co_await reduce_scatter(summing, values, result.span(), blocks, reduction);
  std::copy(result.span().begin(), result.span().end(), mine.begin());
  co_await gather_all(group.phase(kRing).choosing(Algorithm::ring), values, blocks);
}

Task<> all_reduce_by_doubling(Group group, std::span<std::byte> values, const Reduction& reduction) {
  const Core core(group);
  co_await fold(group, core, values, reduction);
  if (!core.is_folded()) co_await double_whole(group, core, values, reduction);
  co_await unfold(group, core, values);
}

Task<> all_reduce_by_halving(Group group, std::span<std::byte> values, const Reduction& reduction) {
  const Core core(group);
  co_await fold(group, core, values, reduction);
  const std::uint32_t lanes = lanes_for(values.size() / 2);
  if (!core.is_folded()) {
    co_await in_lanes(lanes, [&](std::uint32_t lane) {
      return halve_and_double(group.phase(kFirstLane + lane), core, values,
                              lane_of(values, reduction.element_bytes, lane, lanes), reduction);
    });
  }
  co_await unfold(group, core, values);
}

}  // namespace

Task<> all_reduce(Group group, std::span<std::byte> values, const Reduction& reduction) {
  switch (group.algorithm(Collective::all_reduce, values.size())) {
    case Algorithm::doubling:
      return all_reduce_by_doubling(group, values, reduction);
    case Algorithm::halving:
      return all_reduce_by_halving(group, values, reduction);
    default:
      return all_reduce_by_blocks(group, values, reduction);
  }
}

Task<> reduce(Group group, std::span<std::byte> values, const Reduction& reduction, std::uint32_t root) {
  return group.algorithm(Collective::reduce, values.size()) == Algorithm::binomial
             ? reduce_by_tree(group, values, reduction, root)
             : reduce_by_halving(group, values, reduction, root);
}

}  // namespace coracle::internals::between
