// The tree between nodes along which a barrier raises its signals.
#pragma once

#include <algorithm>
#include <cstdint>

namespace coracle::internals::signal_tree {

// Each level costs a latency, and each child an overhead, which is several times smaller.
inline constexpr std::uint32_t kFanIn = 8;

/// Nodes in a row.
struct Children {
  std::uint32_t first;
  std::uint32_t count;
};

constexpr Children children_of(std::uint32_t node, std::uint32_t nodes) noexcept {
  const std::uint32_t first = std::min(node * kFanIn + 1, nodes);
  return {first, std::min(kFanIn, nodes - first)};
}

/// Of any node but 0.
constexpr std::uint32_t parent_of(std::uint32_t node) noexcept {
  return (node - 1) / kFanIn;
}

}  // namespace coracle::internals::signal_tree
