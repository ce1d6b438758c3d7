// Making nodes: sizes, bounds and estimates from those of the children.
#include "runtime/layout/node.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace coracle::internals::layouts {
namespace {

constexpr std::uint64_t kCacheLine = 64;

std::uint64_t multiply_sizes(std::uint64_t size, std::int64_t count) {
  return static_cast<std::uint64_t>(multiply(static_cast<std::int64_t>(size), count));
}

std::uint64_t add_sizes(std::uint64_t first, std::uint64_t second) {
  return static_cast<std::uint64_t>(add(static_cast<std::int64_t>(first), static_cast<std::int64_t>(second)));
}

/// No more lines than the bytes between the bounds have.
std::uint64_t lines_within(const LayoutNode& node, std::uint64_t lines) {
  const std::uint64_t span = static_cast<std::uint64_t>(node.high) - static_cast<std::uint64_t>(node.low);
  return std::min(lines, span / kCacheLine + 1);
}

void set_depth(LayoutNode& node, int child_depth) {
  node.depth = child_depth + 1;
  if (node.depth > kDepthMax) throw TooDeep{};
}

void check_span(const LayoutNode& node) {
  if (node.low < 0 && node.high > std::numeric_limits<std::int64_t>::max() + node.low) throw TooLarge{};
}

/// Offsets relative to the first; gives the first.
std::int64_t rebase(std::vector<std::int64_t>& offsets) {
  const std::int64_t first = offsets.front();
  for (std::int64_t& offset : offsets)
    if (__builtin_sub_overflow(offset, first, &offset)) throw TooLarge{};
  return first;
}

}  // namespace

std::int64_t add(std::int64_t first, std::int64_t second) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(first, second, &sum)) throw TooLarge{};
  return sum;
}

std::int64_t multiply(std::int64_t first, std::int64_t second) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(first, second, &product)) throw TooLarge{};
  return product;
}

NodePointer make_run(std::uint64_t bytes) {
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) throw TooLarge{};
  LayoutNode node;
  node.size = node.shortest = node.longest = bytes;
  node.high = static_cast<std::int64_t>(bytes);
  node.lines = (bytes + kCacheLine - 1) / kCacheLine;
  return std::make_shared<const LayoutNode>(std::move(node));
}

NodePointer make_strided(NodePointer child, std::int64_t count, std::int64_t stride) {
  LayoutNode node;
  node.kind = NodeKind::strided;
  set_depth(node, child->depth);
  node.size = multiply_sizes(child->size, count);
  const std::int64_t last = multiply(count - 1, stride);
  node.low = add(std::min<std::int64_t>(last, 0), child->low);
  node.high = add(std::max<std::int64_t>(last, 0), child->high);
  check_span(node);
  node.blocks = multiply_sizes(child->blocks, count);
  node.shortest = child->shortest;
  node.longest = child->longest;
  node.lines = lines_within(node, multiply_sizes(child->lines, count));
  node.count = count;
  node.stride = stride;
  node.child = std::move(child);
  return std::make_shared<const LayoutNode>(std::move(node));
}

PlacedNode make_list(NodePointer child, std::vector<std::int64_t> offsets) {
  LayoutNode node;
  node.kind = NodeKind::list;
  set_depth(node, child->depth);
  const std::int64_t first = rebase(offsets);
  const auto [lowest, highest] = std::minmax_element(offsets.begin(), offsets.end());
  node.low = add(*lowest, child->low);
  node.high = add(*highest, child->high);
  check_span(node);
  node.count = static_cast<std::int64_t>(offsets.size());
  node.size = multiply_sizes(child->size, node.count);
  node.blocks = multiply_sizes(child->blocks, node.count);
  node.shortest = child->shortest;
  node.longest = child->longest;
  node.lines = lines_within(node, multiply_sizes(child->lines, node.count));
  constexpr std::int64_t kNarrowMax = std::numeric_limits<std::int32_t>::max();
  if (child->kind == NodeKind::run && *lowest >= -kNarrowMax && *highest <= kNarrowMax)
    node.narrow.assign(offsets.begin(), offsets.end());
  node.offsets = std::move(offsets);
  node.child = std::move(child);
  return {first, std::make_shared<const LayoutNode>(std::move(node))};
}

PlacedNode make_blocks(std::vector<std::int64_t> offsets, std::span<const std::uint64_t> lengths) {
  LayoutNode node;
  node.kind = NodeKind::blocks;
  const std::int64_t first = rebase(offsets);
  node.count = static_cast<std::int64_t>(offsets.size());
  node.blocks = offsets.size();
  node.starts.reserve(offsets.size() + 1);
  node.starts.push_back(0);
  std::uint64_t lines = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    node.low = std::min(node.low, offsets[i]);
    node.high = std::max(node.high, add(offsets[i], static_cast<std::int64_t>(lengths[i])));
    node.starts.push_back(add_sizes(node.starts.back(), lengths[i]));
    lines = add_sizes(lines, (lengths[i] + kCacheLine - 1) / kCacheLine);
  }
  check_span(node);
  node.size = node.starts.back();
  node.shortest = *std::min_element(lengths.begin(), lengths.end());
  node.longest = *std::max_element(lengths.begin(), lengths.end());
  node.lines = lines_within(node, lines);
  node.offsets = std::move(offsets);
  return {first, std::make_shared<const LayoutNode>(std::move(node))};
}

PlacedNode make_sequence(const std::vector<PlacedNode>& parts) {
  LayoutNode node;
  node.kind = NodeKind::sequence;
  node.count = static_cast<std::int64_t>(parts.size());
  node.blocks = 0;
  node.shortest = std::numeric_limits<std::uint64_t>::max();
  node.starts.push_back(0);
  for (const PlacedNode& part : parts) node.offsets.push_back(part.offset);
  const std::int64_t first = rebase(node.offsets);
  int depth = 0;
  std::uint64_t lines = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const LayoutNode& part = *parts[i].node;
    depth = std::max(depth, part.depth);
    node.low = std::min(node.low, add(node.offsets[i], part.low));
    node.high = std::max(node.high, add(node.offsets[i], part.high));
    node.starts.push_back(add_sizes(node.starts.back(), part.size));
    node.blocks = add_sizes(node.blocks, part.blocks);
    node.shortest = std::min(node.shortest, part.shortest);
    node.longest = std::max(node.longest, part.longest);
    lines = add_sizes(lines, part.lines);
    node.parts.push_back(parts[i].node);
  }
  set_depth(node, depth);
  check_span(node);
  node.size = node.starts.back();
  node.lines = lines_within(node, lines);
  return {first, std::make_shared<const LayoutNode>(std::move(node))};
}

bool alike(const LayoutNode* first, const LayoutNode* second) {
  if (first == second) return true;
  if (first == nullptr || second == nullptr) return false;
  if (first->kind != second->kind || first->size != second->size || first->count != second->count ||
      first->stride != second->stride || first->low != second->low || first->high != second->high ||
      first->depth != second->depth || first->offsets != second->offsets || first->starts != second->starts)
    return false;
  for (std::size_t i = 0; i < first->parts.size(); ++i)
    if (!alike(first->parts[i].get(), second->parts[i].get())) return false;
  return alike(first->child.get(), second->child.get());
}

}  // namespace coracle::internals::layouts
