// gather, scatter and broadcast among a group: by a binomial tree, or straight between the root and each; and
// gather_all.
#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/between/between.hpp"
#include "collectives/choice/lanes.hpp"
#include "collectives/data/scratch.hpp"

namespace coracle::internals::between {
namespace {

bool by_tree(const Group& group, Collective collective, const Blocks& blocks, Known known) {
  return known == Known::everywhere &&
         group.algorithm(collective, blocks.total() / group.size()) == Algorithm::binomial;
}

/// A binomial tree whose positions count from the root. What is below a position is a range that begins with it.
class Tree {
 public:
  Tree(const Group& group, const Blocks& blocks, std::uint32_t root)
      : blocks_(blocks), size_(group.size()), root_(root), me_((group.position() + size_ - root) % size_) {}
  std::uint32_t me() const noexcept { return me_; }
  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t position(std::uint32_t counted) const noexcept { return (counted + root_) % size_; }
  /// How many are below a position, and itself, that joins the tree at this distance from its parent.
  std::uint32_t members(std::uint32_t counted, std::uint32_t distance) const noexcept {
    return std::min(distance, size_ - counted);
  }
  /// This position's distance from its parent; the root's is that of a parent outside.
  std::uint32_t distance() const noexcept {
    std::uint32_t distance = 1;
    while (distance < size_ && me_ % (2 * distance) == 0) distance *= 2;
    return distance;
  }
  /// Bytes of `number` blocks from a position on.
  std::size_t bytes(std::uint32_t counted, std::uint32_t number) const noexcept {
    return blocks_.bytes_around(position(counted), number);
  }
  /// Where the range below a position lies in this position's own.
  std::span<std::byte> below(std::span<std::byte> own, std::uint32_t counted, std::uint32_t distance) const noexcept {
    return own.subspan(bytes(me_, counted - me_), bytes(counted, members(counted, distance)));
  }

 private:
  const Blocks& blocks_;
  std::uint32_t size_;
  std::uint32_t root_;
  std::uint32_t me_;
};

/// From blocks in a row that begin with that of `first`, and go on at 0 after the last, to where they belong.
void unturn(std::span<const std::byte> turned, const Blocks& blocks, std::uint32_t first, std::span<std::byte> all) {
  if (!blocks.in_a_row()) {
    for (std::uint32_t number = 0; number < blocks.count(); ++number) {
      const std::span<std::byte> target = blocks.of(all, (first + number) % blocks.count());
      copy_bytes(turned.subspan(blocks.bytes_around(first, number), target.size()), target);
    }
    return;
  }
  const std::size_t turn = blocks.bytes(first, blocks.count());
  copy_bytes(turned.first(turn), all.subspan(blocks.offset(first)));
  copy_bytes(turned.subspan(turn), all);
}

Task<> gather_by_tree(Group group, std::span<const std::byte> mine, std::span<std::byte> all, const Blocks& blocks,
                      std::uint32_t root) {
  const Tree tree(group, blocks, root);
  const std::uint32_t own_distance = tree.distance();
  const Scratch own(tree.bytes(tree.me(), tree.members(tree.me(), own_distance)));
  copy_bytes(mine, own.span());
  std::uint32_t level = 0;
  for (std::uint32_t distance = 1; distance < own_distance; distance *= 2, ++level) {
    const std::uint32_t child = tree.me() + distance;
    if (child < tree.size()) {
      co_await group.receive(tree.position(child), level, tree.below(own.span(), child, distance));
    }
  }
  if (group.position() != root)
    co_return co_await group.send(tree.position(tree.me() - own_distance), level, own.span());
  unturn(own.span(), blocks, root, all);
}

Task<> scatter_by_tree(Group group, std::span<const std::byte> all, std::span<std::byte> mine, const Blocks& blocks,
                       std::uint32_t root) {
  const Tree tree(group, blocks, root);
  const std::uint32_t own_distance = tree.distance();
  const Scratch own(tree.bytes(tree.me(), tree.members(tree.me(), own_distance)));
  if (group.position() == root) {
    const std::span<const std::byte> before = all.first(blocks.offset(root));
    copy_bytes(all.subspan(before.size()), own.span());
    copy_bytes(before, own.span().subspan(all.size() - before.size()));
  } else {
    co_await group.receive(tree.position(tree.me() - own_distance), 0, own.span());
  }
  for (std::uint32_t distance = own_distance / 2; distance > 0; distance /= 2) {
    const std::uint32_t child = tree.me() + distance;
    if (child < tree.size()) co_await group.send(tree.position(child), 0, tree.below(own.span(), child, distance));
  }
  copy_bytes(own.span().first(mine.size()), mine);
}

/// Bruck's algorithm (J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
/// systems", IEEE TPDS 1997): after the step of distance d this position has the blocks of the 2d positions from itself
/// on.
Task<> bruck(Group group, std::span<std::byte> all, const Blocks& blocks) {
  const std::uint32_t size = group.size();
  const std::uint32_t me = group.position();
  const Scratch turned(blocks.total());
  const auto range = [&](std::uint32_t first, std::uint32_t number) {
    return turned.subspan(blocks.bytes_around(me, first), blocks.bytes_around((me + first) % size, number));
  };
  copy_bytes(blocks.of(all, me), turned.span());
  std::uint32_t step = 0;
  for (std::uint32_t distance = 1; distance < size; distance *= 2, ++step) {
    const std::uint32_t number = std::min(distance, size - distance);
    co_await exchange(group, step, (me + size - distance) % size, range(0, number), (me + distance) % size,
                      range(distance, number));
  }
  unturn(turned.span(), blocks, me, all);
}

Task<> ring(Group group, std::span<std::byte> all, const Blocks& blocks, std::uint32_t lane, std::uint32_t lanes) {
  const std::uint32_t size = group.size();
  const std::uint32_t me = group.position();
  const auto part = [&](std::uint32_t position) {
    const std::span<std::byte> block = blocks.of(all, position);
    return part_of_lane(block.size(), 1, lane, lanes).of(block);
  };
  for (std::uint32_t step = 0; step + 1 < size; ++step) {
    co_await exchange(group, step, (me + 1) % size, part((me + size - step) % size), (me + size - 1) % size,
                      part((me + size - step - 1) % size));
  }
}

}  // namespace

Task<> gather(Group group, std::span<const std::byte> mine, std::span<std::byte> all, const Blocks& blocks, Known known,
              std::uint32_t root) {
  if (by_tree(group, Collective::gather, blocks, known))
    co_return co_await gather_by_tree(group, mine, all, blocks, root);
  if (group.position() != root) co_return co_await group.send(root, 0, mine);
  copy_bytes(mine, blocks.of(all, root));
  std::vector<Task<>> parts;
  for (std::uint32_t position = 0; position < group.size(); ++position)
    if (position != root) parts.push_back(group.receive(position, 0, blocks.of(all, position)));
  co_await all_of(std::move(parts));
}

Task<> scatter(Group group, std::span<const std::byte> all, std::span<std::byte> mine, const Blocks& blocks,
               Known known, std::uint32_t root) {
  if (by_tree(group, Collective::scatter, blocks, known))
    co_return co_await scatter_by_tree(group, all, mine, blocks, root);
  if (group.position() != root) co_return co_await group.receive(root, 0, mine);
  copy_bytes(blocks.of(all, root), mine);
  std::vector<Task<>> parts;
  for (std::uint32_t position = 0; position < group.size(); ++position)
    if (position != root) parts.push_back(group.send(position, 0, blocks.of(all, position)));
  co_await all_of(std::move(parts));
}

Task<> broadcast(Group group, std::span<std::byte> data, std::uint32_t root) {
  const std::uint32_t size = group.size();
  const std::uint32_t me = (group.position() + size - root) % size;
  const auto position = [&](std::uint32_t counted) { return (counted + root) % size; };
  std::uint32_t distance = 1;
  while (distance < size && (me & distance) == 0) distance *= 2;
  if (me != 0) co_await group.receive(position(me - distance), 0, data);
  std::vector<Task<>> sends;
  for (distance /= 2; distance > 0; distance /= 2)
    if (me + distance < size) sends.push_back(group.send(position(me + distance), 0, data));
  co_await all_of(std::move(sends));
}

Task<> gather_all(Group group, std::span<std::byte> all, const Blocks& blocks) {
  if (group.size() == 1) co_return;
  if (group.algorithm(Collective::gather_all, blocks.total() / group.size()) == Algorithm::bruck)
    co_return co_await bruck(group, all, blocks);
  const std::uint32_t lanes = lanes_for(blocks.total() / group.size());
  co_await in_lanes(lanes, [&](std::uint32_t lane) { return ring(group.phase(lane), all, blocks, lane, lanes); });
}

}  // namespace coracle::internals::between
