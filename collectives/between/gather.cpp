// gather and scatter among a group: by a binomial tree, or straight between the root and each.
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

void copy(std::span<const std::byte> source, std::span<std::byte> target) {
  std::copy(source.begin(), source.end(), target.begin());
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

/// The root's buffer begins with position 0, its range in the tree with the root.
std::size_t before_turn(const Blocks& blocks, std::uint32_t root) {
  return blocks.bytes(root, blocks.count());
}

Task<> gather_by_tree(Group group, std::span<const std::byte> mine, std::span<std::byte> all, const Blocks& blocks,
                      std::uint32_t root) {
  const Tree tree(group, blocks, root);
  const std::uint32_t own_distance = tree.distance();
  const Scratch own(tree.bytes(tree.me(), tree.members(tree.me(), own_distance)));
  copy(mine, own.span());
  std::uint32_t level = 0;
  for (std::uint32_t distance = 1; distance < own_distance; distance *= 2, ++level) {
    const std::uint32_t child = tree.me() + distance;
    if (child < tree.size()) {
      co_await group.receive(tree.position(child), level, tree.below(own.span(), child, distance));
    }
  }
  if (group.position() != root) {
    co_await group.send(tree.position(tree.me() - own_distance), level, own.span());
    co_return;
  }
  const std::size_t turn = before_turn(blocks, root);
  copy(own.span().first(turn), all.subspan(blocks.offset(root)));
  copy(own.span().subspan(turn), all);
}

Task<> scatter_by_tree(Group group, std::span<const std::byte> all, std::span<std::byte> mine, const Blocks& blocks,
                       std::uint32_t root) {
  const Tree tree(group, blocks, root);
  const std::uint32_t own_distance = tree.distance();
  const Scratch own(tree.bytes(tree.me(), tree.members(tree.me(), own_distance)));
  if (group.position() == root) {
    const std::size_t turn = before_turn(blocks, root);
    copy(all.subspan(blocks.offset(root), turn), own.span());
    copy(all.first(blocks.offset(root)), own.span().subspan(turn));
  } else {
    co_await group.receive(tree.position(tree.me() - own_distance), 0, own.span());
  }
  for (std::uint32_t distance = own_distance / 2; distance > 0; distance /= 2) {
    const std::uint32_t child = tree.me() + distance;
    if (child < tree.size()) co_await group.send(tree.position(child), 0, tree.below(own.span(), child, distance));
  }
  copy(own.span().first(mine.size()), mine);
}

}  // namespace

Task<> gather(Group group, std::span<const std::byte> mine, std::span<std::byte> all, const Blocks& blocks, Known known,
              std::uint32_t root) {
  if (by_tree(group, Collective::gather, blocks, known)) {
    co_await gather_by_tree(group, mine, all, blocks, root);
    co_return;
  }
  if (group.position() != root) {
    co_await group.send(root, 0, mine);
    co_return;
  }
  copy(mine, blocks.of(all, root));
  std::vector<Task<>> parts;
  for (std::uint32_t position = 0; position < group.size(); ++position)
    if (position != root) parts.push_back(group.receive(position, 0, blocks.of(all, position)));
  co_await all_of(std::move(parts));
}

Task<> scatter(Group group, std::span<const std::byte> all, std::span<std::byte> mine, const Blocks& blocks,
               Known known, std::uint32_t root) {
  if (by_tree(group, Collective::scatter, blocks, known)) {
    co_await scatter_by_tree(group, all, mine, blocks, root);
    co_return;
  }
  if (group.position() != root) {
    co_await group.receive(root, 0, mine);
    co_return;
  }
  copy(blocks.of(all, root), mine);
  std::vector<Task<>> parts;
  for (std::uint32_t position = 0; position < group.size(); ++position)
    if (position != root) parts.push_back(group.send(position, 0, blocks.of(all, position)));
  co_await all_of(std::move(parts));
}

}  // namespace coracle::internals::between
