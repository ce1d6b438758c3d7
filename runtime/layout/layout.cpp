// What layouts tell about themselves.
#include "runtime/layout/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

using layouts::LayoutNode;
using layouts::NodeKind;

/// Entries of lists, and levels, that describe() shows.
constexpr std::size_t kShown = 4;
constexpr int kLevelsShown = 5;

std::string text_of(const LayoutNode& node, int levels);

std::string list_text(const LayoutNode& node, int levels) {
  std::string text;
  for (std::size_t i = 0; i < std::min(node.offsets.size(), kShown); ++i) {
    if (i > 0) text += ", ";
    if (node.kind == NodeKind::blocks) text += fmt::format("{} B at ", node.starts[i + 1] - node.starts[i]);
    if (node.kind == NodeKind::sequence) text += fmt::format("({}) at ", text_of(*node.parts[i], levels));
    text += fmt::format("{}", node.offsets[i]);
  }
  return text + (node.offsets.size() > kShown ? ", ..." : "");
}

std::string text_of(const LayoutNode& node, int levels) {
  if (levels == 0) return "...";
  const auto inner = [&] {
    return node.child->kind == NodeKind::run ? text_of(*node.child, levels - 1)
                                             : fmt::format("({})", text_of(*node.child, levels - 1));
  };
  switch (node.kind) {
    case NodeKind::run:
      return fmt::format("{} B", node.size);
    case NodeKind::strided:
      return fmt::format("{} x {} every {} B", node.count, inner(), node.stride);
    case NodeKind::list:
      return fmt::format("{} x {} at {}", node.count, inner(), list_text(node, levels - 1));
    case NodeKind::blocks:
      return fmt::format("{} blocks: {}", node.count, list_text(node, levels - 1));
    case NodeKind::sequence:
      return fmt::format("{} parts: {}", node.count, list_text(node, levels - 1));
  }
  return {};
}

[[noreturn]] void too_many(std::uint64_t count, const Layout& layout) {
  throw Error(Errc::bad_input,
              fmt::format("{} repetitions of a layout of {} bytes with extent {} reach over 2^63 bytes; "
                          "take fewer",
                          count, layout.size(), layout.extent()));
}

}  // namespace

double LayoutShape::block_bytes() const noexcept {
  return blocks == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(blocks);
}

double LayoutShape::bytes_per_line() const noexcept {
  return lines == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(lines);
}

bool Layout::is_contiguous() const noexcept {
  if (node_ == nullptr) return true;
  return node_->kind == NodeKind::run && node_->high == extent();
}

LayoutShape Layout::shape(std::uint64_t count) const noexcept {
  if (node_ == nullptr || count == 0) return {};
  if (is_contiguous()) {
    const std::uint64_t bytes = node_->size * count;
    return {bytes, 1, bytes, bytes, (bytes + 63) / 64};
  }
  const auto step = static_cast<std::uint64_t>(extent() < 0 ? -extent() : extent());
  std::uint64_t span = 0;
  std::uint64_t lines = 0;
  const bool endless = __builtin_mul_overflow(step, count - 1, &span) ||
                       __builtin_add_overflow(span, static_cast<std::uint64_t>(true_extent()), &span);
  if (__builtin_mul_overflow(node_->lines, count, &lines)) lines = std::numeric_limits<std::uint64_t>::max();
  if (!endless) lines = std::min(lines, span / 64 + 1);
  return {node_->size * count, node_->blocks * count, node_->shortest, node_->longest, lines};
}

std::uint64_t Layout::packed_bytes(std::uint64_t count) const {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(size(), count, &bytes) || bytes > std::numeric_limits<std::int64_t>::max())
    too_many(count, *this);
  return bytes;
}

Footprint Layout::footprint(std::uint64_t count) const {
  if (node_ == nullptr || count == 0) return {};
  try {
    if (count > std::numeric_limits<std::int64_t>::max()) throw layouts::TooLarge{};
    const std::int64_t last = layouts::multiply(static_cast<std::int64_t>(count) - 1, extent());
    const Footprint found{layouts::add(true_lower_bound(), std::min<std::int64_t>(last, 0)),
                          layouts::add(true_lower_bound() + true_extent(), std::max<std::int64_t>(last, 0))};
    if (found.low < 0) layouts::add(found.high, -(found.low + 1));
    return found;
  } catch (const layouts::TooLarge&) {
    too_many(count, *this);
  }
}

bool operator==(const Layout& first, const Layout& second) noexcept {
  return first.first_ == second.first_ && first.lower_ == second.lower_ && first.upper_ == second.upper_ &&
         first.marked_ == second.marked_ && layouts::alike(first.node_.get(), second.node_.get());
}

std::string Layout::describe() const {
  if (node_ == nullptr) return "no bytes";
  std::string text = text_of(*node_, kLevelsShown);
  if (first_ != 0) text += fmt::format(", from {}", first_);
  if (extent() != true_extent() || lower_ != true_lower_bound())
    text += fmt::format("; lower bound {}, extent {}", lower_, extent());
  return text;
}

}  // namespace coracle::internals
