// all_reduce and reduce among a group. What is combined is always a range of consecutive positions with the range
// beside it, so that operations need not be commutative. Recursive halving and doubling: R. Thakur, R. Rabenseifner, W.
// Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 2005.
#include <algorithm>
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
  /// Steps in which their number doubles.
  std::uint32_t levels() const noexcept { return static_cast<std::uint32_t>(std::countr_zero(size_)); }
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

/// What a member of the core has of `part` after so many halvings, in each of which those with that bit in their number
/// keep the second half.
Part half_of(Part part, std::size_t element_bytes, std::uint32_t number, std::uint32_t levels) {
  for (std::uint32_t level = 0; level < levels; ++level) {
    const std::size_t middle = part.begin + (part.end - part.begin) / element_bytes / 2 * element_bytes;
    ((number >> level & 1) == 0 ? part.end : part.begin) = middle;
  }
  return part;
}

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
  for (std::uint32_t level = 0; level < core.levels(); ++level) {
    const std::uint32_t number = core.number() ^ std::uint32_t{1} << level;
    const std::uint32_t partner = core.position_of(number);
    co_await exchange(group.phase(kFirstLane), level, partner, values, partner, received.span());
    combine_with(values, received.data(), number < core.number(), reduction);
  }
}

/// Recursive halving: afterwards this member of the core has the result of its last half.
Task<> halve(Group group, Core core, std::span<std::byte> values, Part part, const Reduction& reduction) {
  for (std::uint32_t level = 0; level < core.levels(); ++level) {
    const std::uint32_t number = core.number() ^ std::uint32_t{1} << level;
    const std::uint32_t partner = core.position_of(number);
    const std::span<std::byte> kept = half_of(part, reduction.element_bytes, core.number(), level + 1).of(values);
    const Scratch received(kept.size());
    co_await exchange(group, level, partner, half_of(part, reduction.element_bytes, number, level + 1).of(values),
                      partner, received.span());
    combine_with(kept, received.data(), number < core.number(), reduction);
  }
}

/// And the way back: each pair completes its half.
Task<> halve_and_double(Group group, Core core, std::span<std::byte> values, Part part, const Reduction& reduction) {
  co_await halve(group, core, values, part, reduction);
  for (std::uint32_t level = core.levels(); level-- > 0;) {
    const std::uint32_t number = core.number() ^ std::uint32_t{1} << level;
    const std::uint32_t partner = core.position_of(number);
    co_await exchange(group, core.levels() + level, partner,
                      half_of(part, reduction.element_bytes, core.number(), level + 1).of(values), partner,
                      half_of(part, reduction.element_bytes, number, level + 1).of(values));
  }
}

/// Halving, after which the root gets from each other what that has.
Task<> reduce_lane(Group group, Core core, std::span<std::byte> values, Part part, const Reduction& reduction,
                   std::uint32_t root) {
  constexpr std::uint32_t kStep = 64;
  const auto half = [&](std::uint32_t number) {
    return half_of(part, reduction.element_bytes, number, core.levels()).of(values);
  };
  if (!core.is_folded()) co_await halve(group, core, values, part, reduction);
  if (group.position() != root) {
    if (!core.is_folded()) co_await group.send(root, kStep, half(core.number()));
    co_return;
  }
  std::vector<Task<>> parts;
  for (std::uint32_t number = 0; number < core.size(); ++number)
    if (core.position_of(number) != root) parts.push_back(group.receive(core.position_of(number), kStep, half(number)));
  co_await all_of(std::move(parts));
}

Task<> reduce_by_halving(Group group, std::span<std::byte> values, const Reduction& reduction, std::uint32_t root) {
  const Core core(group);
  co_await fold(group, core, values, reduction);
  const std::uint32_t lanes = lanes_for(values.size() / 2);
  co_await in_lanes(lanes, [&](std::uint32_t lane) {
    return reduce_lane(group.phase(kFirstLane + lane), core, values,
                       part_of_lane(values.size(), reduction.element_bytes, lane, lanes), reduction, root);
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

/// Recursive doubling, or halving and then doubling, among the core.
Task<> all_reduce_in_core(Group group, std::span<std::byte> values, const Reduction& reduction, Algorithm algorithm) {
  const Core core(group);
  co_await fold(group, core, values, reduction);
  const std::uint32_t lanes = lanes_for(values.size() / 2);
  if (!core.is_folded() && algorithm == Algorithm::doubling)
    co_await double_whole(group, core, values, reduction);
  else if (!core.is_folded())
    co_await in_lanes(lanes, [&](std::uint32_t lane) {
      return halve_and_double(group.phase(kFirstLane + lane), core, values,
                              part_of_lane(values.size(), reduction.element_bytes, lane, lanes), reduction);
    });
  co_await unfold(group, core, values);
}

}  // namespace

Task<> all_reduce(Group group, std::span<std::byte> values, const Reduction& reduction) {
  const Algorithm algorithm = group.algorithm(Collective::all_reduce, values.size());
  return algorithm == Algorithm::ring ? all_reduce_by_blocks(group, values, reduction)
                                      : all_reduce_in_core(group, values, reduction, algorithm);
}

Task<> reduce(Group group, std::span<std::byte> values, const Reduction& reduction, std::uint32_t root) {
  return group.algorithm(Collective::reduce, values.size()) == Algorithm::binomial
             ? reduce_by_tree(group, values, reduction, root)
             : reduce_by_halving(group, values, reduction, root);
}

}  // namespace coracle::internals::between
