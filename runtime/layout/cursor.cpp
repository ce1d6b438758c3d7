// Walking over a layout.
#include "runtime/layout/cursor.hpp"

#include <algorithm>

#include "runtime/core/assert.hpp"

namespace coracle::internals::layouts {
namespace {

/// Fills `leaf` for a node that is one row of blocks, and gives true; else false.
bool as_row(const LayoutNode& node, std::int64_t base, Group& leaf) noexcept {
  if ((node.kind == NodeKind::strided || node.kind == NodeKind::list) && node.child->kind != NodeKind::run)
    return false;
  if (node.kind == NodeKind::sequence) return false;
  leaf.offset = base;
  leaf.block_bytes = node.kind == NodeKind::blocks ? node.starts[1] : node.longest;
  leaf.count = node.count;
  leaf.stride = node.stride;
  leaf.rows = 1;
  leaf.row_stride = 0;
  leaf.offsets = node.kind == NodeKind::list || node.kind == NodeKind::blocks ? node.offsets.data() : nullptr;
  leaf.narrow = node.narrow.empty() ? nullptr : node.narrow.data();
  leaf.starts = node.kind == NodeKind::blocks ? node.starts.data() : nullptr;
  return true;
}

/// As as_row, for rows of them too.
bool as_rows(const LayoutNode& node, std::int64_t base, Group& leaf) noexcept {
  if (as_row(node, base, leaf)) return true;
  if (node.kind != NodeKind::strided || !as_row(*node.child, base, leaf)) return false;
  leaf.rows = node.count;
  leaf.row_stride = node.stride;
  return true;
}

/// Repeats a leaf of one row, or one whose rows go on in the next repetition; gives false for any other.
bool repeat_leaf(Group& leaf, std::int64_t repetitions, std::int64_t extent) noexcept {
  const bool single = leaf.rows == 1 && leaf.count == 1 && leaf.offsets == nullptr;
  if (single && static_cast<std::int64_t>(leaf.block_bytes) == extent) {
    leaf.block_bytes *= static_cast<std::uint64_t>(repetitions);
    return true;
  }
  std::int64_t whole = 0;
  const bool row_goes_on = leaf.rows == 1 && leaf.offsets == nullptr &&
                           !__builtin_mul_overflow(leaf.count, leaf.stride, &whole) && whole == extent;
  if (single || row_goes_on) {
    leaf.count *= repetitions;
    if (single) leaf.stride = extent;
    return true;
  }
  const bool rows_go_on = !__builtin_mul_overflow(leaf.rows, leaf.row_stride, &whole) && whole == extent;
  if (leaf.rows > 1 && !rows_go_on) return false;
  leaf.rows *= repetitions;
  leaf.row_stride = rows_go_on ? leaf.row_stride : extent;
  return true;
}

}  // namespace

bool is_one_group(const Layout& layout, std::uint64_t count, Group& group) noexcept {
  return layout.node() != nullptr && as_rows(*layout.node(), layout.first_byte(), group) &&
         (count == 1 || repeat_leaf(group, static_cast<std::int64_t>(count), layout.extent()));
}

Cursor::Cursor(const Layout& layout, std::uint64_t count, std::uint64_t position)
    : root_(layout.node()),
      first_(layout.first_byte()),
      repetitions_(static_cast<std::int64_t>(count)),
      extent_(layout.extent()) {
  if (root_ == nullptr || position == root_->size * count) return;
  CORACLE_ASSERT(position < root_->size * count, "position {} lies behind the {} x {} bytes of a layout", position,
                 count, root_->size);
  if (repetitions_ == 1)
    descend(root_, first_, position);
  else
    start_repeated(position);
}

void Cursor::start_repeated(std::uint64_t position) noexcept {
  if (as_rows(*root_, first_, leaf_) && repeat_leaf(leaf_, repetitions_, extent_)) return enter_leaf(position);
  const auto index = static_cast<std::int64_t>(position / root_->size);
  frames_[0] = {nullptr, first_, index};
  depth_ = 1;
  descend(root_, first_ + index * extent_, position % root_->size);
}

void Cursor::descend(const LayoutNode* node, std::int64_t base, std::uint64_t position) noexcept {
  while (!as_rows(*node, base, leaf_)) {
    std::int64_t index = 0;
    const LayoutNode* next = nullptr;
    if (node->kind == NodeKind::sequence) {
      const auto above = std::upper_bound(node->starts.begin(), node->starts.end(), position);
      index = above - node->starts.begin() - 1;
      position -= node->starts[static_cast<std::size_t>(index)];
      next = node->parts[static_cast<std::size_t>(index)].get();
    } else {
      next = node->child.get();
      index = static_cast<std::int64_t>(position / next->size);
      position %= next->size;
    }
    frames_[static_cast<std::size_t>(depth_++)] = {node, base, index};
    base += node->kind == NodeKind::strided ? index * node->stride : node->offsets[static_cast<std::size_t>(index)];
    node = next;
  }
  enter_leaf(position);
}

void Cursor::enter_leaf(std::uint64_t position) noexcept {
  row_ = column_ = 0;
  byte_ = 0;
  at_leaf_start_ = position == 0;
  if (at_leaf_start_) return;
  const auto count = static_cast<std::uint64_t>(leaf_.count);
  const std::uint64_t row_bytes = leaf_.starts != nullptr ? leaf_.starts[count] : leaf_.block_bytes * count;
  row_ = static_cast<std::int64_t>(position / row_bytes);
  position %= row_bytes;
  if (leaf_.starts != nullptr) {
    column_ = std::upper_bound(leaf_.starts, leaf_.starts + count, position) - leaf_.starts - 1;
    byte_ = position - leaf_.starts[column_];
  } else {
    column_ = static_cast<std::int64_t>(position / leaf_.block_bytes);
    byte_ = position % leaf_.block_bytes;
  }
  set_rest();
}

/// To the leaf after this one.
void Cursor::leave_leaf() noexcept {
  while (depth_ > 0) {
    Frame& frame = frames_[static_cast<std::size_t>(depth_ - 1)];
    const LayoutNode* node = frame.node;
    const std::int64_t count = node == nullptr ? repetitions_ : node->count;
    if (++frame.index == count) {
      --depth_;
      continue;
    }
    if (node == nullptr) return descend(root_, frame.base + frame.index * extent_, 0);
    const auto index = static_cast<std::size_t>(frame.index);
    const LayoutNode* next = node->kind == NodeKind::sequence ? node->parts[index].get() : node->child.get();
    return descend(
        next, frame.base + (node->kind == NodeKind::strided ? frame.index * node->stride : node->offsets[index]), 0);
  }
  leaf_.count = 0;
  at_leaf_start_ = true;
}

void Cursor::advance_blocks(std::int64_t blocks) noexcept {
  byte_ = 0;
  column_ += blocks;
  if (column_ >= leaf_.count) {
    if (column_ < 2 * leaf_.count) {  // as a rule: no division
      ++row_;
      column_ -= leaf_.count;
    } else {
      row_ += column_ / leaf_.count;
      column_ %= leaf_.count;
    }
    if (row_ >= leaf_.rows) return leave_leaf();
  }
  set_rest();
}

void Cursor::advance_group() noexcept {
  if (at_leaf_start_) return leave_leaf();
  advance_blocks(rest_.rows * rest_.count);
}

void Cursor::advance_bytes(std::uint64_t bytes) noexcept {
  if (bytes == group().block_bytes) return advance_blocks(1);
  byte_ += bytes;
  set_rest();
}

void Cursor::set_rest() noexcept {
  at_leaf_start_ = false;
  rest_ = leaf_;
  rest_.offset += row_ * leaf_.row_stride;
  if (leaf_.starts != nullptr) {
    rest_.starts += column_;
    rest_.block_bytes = rest_.starts[1] - rest_.starts[0];
  }
  if (leaf_.narrow != nullptr) rest_.narrow += column_;
  if (leaf_.offsets != nullptr)
    rest_.offsets += column_;
  else
    rest_.offset += column_ * leaf_.stride;
  if (byte_ != 0) {
    if (leaf_.offsets != nullptr) rest_.offset += *rest_.offsets;
    rest_.offset += static_cast<std::int64_t>(byte_);
    rest_.block_bytes -= byte_;
    rest_.count = rest_.rows = 1;
    rest_.offsets = nullptr;
    rest_.narrow = nullptr;
    rest_.starts = nullptr;
    return;
  }
  rest_.count = leaf_.count - column_;
  rest_.rows = column_ == 0 ? leaf_.rows - row_ : 1;
}

}  // namespace coracle::internals::layouts
