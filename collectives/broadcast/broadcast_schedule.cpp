// Binomial tree, and scatter followed by an all-gather.
#include "collectives/broadcast/broadcast_schedule.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "runtime/core/assert.hpp"

namespace coracle::internals {
namespace {

using Piece = BroadcastSchedule::Piece;
using Send = BroadcastSchedule::Send;

/// The binomial tree over all nodes.
class Tree {
 public:
  explicit Tree(std::uint32_t nodes) noexcept : nodes_(nodes) {}

  /// How many nodes, from `node` on, get their data through it.
  std::uint32_t span(std::uint32_t node) const noexcept {
    const std::uint32_t reach = node == 0 ? std::bit_ceil(nodes_) : node & -node;
    return std::min(reach, nodes_ - node);
  }
  static std::uint32_t parent(std::uint32_t node) noexcept { return node & (node - 1); }
  /// Those with much to pass on first.
  std::vector<std::uint32_t> children(std::uint32_t node) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t step = node == 0 ? std::bit_ceil(nodes_) : node & -node; step > 1;) {
      step /= 2;
      if (node + step < nodes_) found.push_back(node + step);
    }
    return found;
  }

 private:
  std::uint32_t nodes_;
};

void cut(Piece whole, std::size_t chunk_bytes, std::vector<Piece>& pieces) {
  for (std::size_t done = 0; done < whole.bytes; done += chunk_bytes)
    pieces.push_back({whole.offset + done, std::min(chunk_bytes, whole.bytes - done)});
}

/// The message in as many blocks as there are nodes, and who gets which from whom.
class BlocksOfTree {
 public:
  BlocksOfTree(BroadcastTree tree, std::uint32_t nodes, std::size_t bytes, std::size_t chunk_bytes) noexcept
      : tree_(tree),
        nodes_(nodes),
        bytes_(bytes),
        block_bytes_(((bytes + nodes - 1) / nodes + kAlignment - 1) / kAlignment * kAlignment),
        chunk_bytes_(chunk_bytes),
        scatter_(nodes) {}

  /// A block comes to a node in the scatter.
  bool in_scatter(std::uint32_t node, std::uint32_t block) const noexcept {
    return block >= node && block - node < scatter_.span(node);
  }
  /// In the order in which they come: first those for the nodes that wait longest for theirs.
  std::vector<std::uint32_t> scattered(std::uint32_t node) const {
    std::vector<std::uint32_t> blocks;
    for (const std::uint32_t child : scatter_.children(node)) {
      const std::vector<std::uint32_t> through = scattered(child);
      blocks.insert(blocks.end(), through.begin(), through.end());
    }
    blocks.push_back(node);
    return blocks;
  }
  /// What comes from `source` in the all-gather, in this order.
  std::vector<std::uint32_t> gathered(std::uint32_t node, std::uint32_t source) const {
    std::vector<std::uint32_t> blocks;
    const std::uint32_t first = tree_ == BroadcastTree::ring ? 1 : node ^ source;
    const std::uint32_t last = tree_ == BroadcastTree::ring ? nodes_ : 2 * first;
    for (std::uint32_t i = first; i < last; ++i) {
      const std::uint32_t block = tree_ == BroadcastTree::ring ? (node + nodes_ - i) % nodes_ : node ^ i;
      if (!in_scatter(node, block)) blocks.push_back(block);
    }
    return blocks;
  }
  /// From whom, in the order of the all-gather; those from whom nothing comes too.
  std::vector<std::uint32_t> gather_sources(std::uint32_t node) const {
    if (tree_ == BroadcastTree::ring) return {(node + nodes_ - 1) % nodes_};
    std::vector<std::uint32_t> sources;
    for (std::uint32_t step = 1; step < nodes_; step *= 2) sources.push_back(node ^ step);
    return sources;
  }
  std::vector<std::uint32_t> gather_targets(std::uint32_t node) const {
    if (tree_ == BroadcastTree::ring) return {(node + 1) % nodes_};
    return gather_sources(node);
  }
  std::vector<Piece> pieces_of(const std::vector<std::uint32_t>& blocks) const {
    std::vector<Piece> pieces;
    for (const std::uint32_t block : blocks) {
      const std::size_t begin = std::min(bytes_, block * block_bytes_);
      cut({begin, std::min(bytes_ - begin, block_bytes_)}, chunk_bytes_, pieces);
    }
    return pieces;
  }
  /// All that comes to a node.
  std::vector<Piece> pieces(std::uint32_t node) const {
    std::vector<Piece> all = pieces_of(scattered(node));
    for (const std::uint32_t source : gather_sources(node)) {
      const std::vector<Piece> more = pieces_of(gathered(node, source));
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }
  const Tree& scatter() const noexcept { return scatter_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  BroadcastTree tree_;
  std::uint32_t nodes_;
  std::size_t bytes_;
  std::size_t block_bytes_;
  std::size_t chunk_bytes_;
  Tree scatter_;
};

/// Numbers of pieces by their place in the message.
using Numbers = std::map<std::size_t, std::uint32_t>;

Numbers number(const std::vector<Piece>& pieces) {
  Numbers numbers;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) numbers.emplace(pieces[i].offset, i);
  return numbers;
}

void add_sends(BroadcastSchedule& schedule, const Numbers& own, std::uint32_t target, const std::vector<Piece>& what,
               const Numbers& there) {
  for (const Piece& piece : what)
    schedule.sends.push_back({target, there.at(piece.offset), own.at(piece.offset) + 1, piece});
}

BroadcastSchedule binomial(std::uint32_t nodes, std::uint32_t node, std::size_t bytes, std::size_t chunk_bytes) {
  const Tree tree(nodes);
  BroadcastSchedule schedule;
  cut({0, bytes}, chunk_bytes, schedule.pieces);
  if (node != 0) schedule.sources.push_back(Tree::parent(node));
  const Numbers numbers = number(schedule.pieces);
  for (const std::uint32_t child : tree.children(node)) add_sends(schedule, numbers, child, schedule.pieces, numbers);
  return schedule;
}

BroadcastSchedule scatter_and_gather(BroadcastTree tree, std::uint32_t nodes, std::uint32_t node, std::size_t bytes,
                                     std::size_t chunk_bytes) {
  const BlocksOfTree blocks(tree, nodes, bytes, chunk_bytes);
  BroadcastSchedule schedule;
  schedule.pieces = blocks.pieces(node);
  const Numbers own = number(schedule.pieces);
  if (node != 0) {
    schedule.sources.push_back(Tree::parent(node));
    for (const std::uint32_t source : blocks.gather_sources(node))
      if (source != schedule.sources.front() && !blocks.gathered(node, source).empty())
        schedule.sources.push_back(source);
  }
  // By target: the same node may get a part of the scatter and of the all-gather, in this order.
  std::vector<std::uint32_t> targets = blocks.scatter().children(node);
  for (const std::uint32_t target : blocks.gather_targets(node))
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(target);
  for (const std::uint32_t target : targets) {
    const Numbers there = number(blocks.pieces(target));
    if (target != 0 && Tree::parent(target) == node)
      add_sends(schedule, own, target, blocks.pieces_of(blocks.scattered(target)), there);
    const auto gathers = blocks.gather_sources(target);
    if (target != 0 && std::find(gathers.begin(), gathers.end(), node) != gathers.end())
      add_sends(schedule, own, target, blocks.pieces_of(blocks.gathered(target, node)), there);
  }
  return schedule;
}

}  // namespace

BroadcastSchedule make_broadcast_schedule(BroadcastTree tree, std::uint32_t nodes, std::uint32_t node,
                                          std::size_t bytes, std::size_t chunk_bytes) {
  CORACLE_ASSERT(node < nodes && chunk_bytes > 0, "node {} of {}, chunks of {} bytes", node, nodes, chunk_bytes);
  CORACLE_ASSERT(tree != BroadcastTree::automatic, "an algorithm must have been chosen");
  CORACLE_ASSERT(tree != BroadcastTree::recursive_doubling || std::has_single_bit(nodes),
                 "recursive doubling over {} nodes", nodes);
  if (tree == BroadcastTree::binomial) return binomial(nodes, node, bytes, chunk_bytes);
  return scatter_and_gather(tree, nodes, node, bytes, chunk_bytes);
}

}  // namespace coracle::internals
