// TeamNodes: how a team's members are spread over the nodes, for algorithms of two levels; and the tree of nodes that a
// barrier climbs.
#pragma once

#include <cstdint>
#include <vector>

namespace coracle::internals {

class JobRegion;

/// Nodes are numbered within the team, in the order of their first members; a node's members by their local indices, in
/// the order of the team.
class TeamNodes {
 public:
  /// Of all ranks of the job, as seen from `rank`. The region must outlive this.
  TeamNodes(const JobRegion& region, std::uint32_t rank) noexcept;
  /// Of a team with these members (rank numbers), as seen from the one at `index`.
  TeamNodes(const JobRegion& region, const std::vector<std::uint32_t>& members, std::uint32_t index);

  std::uint32_t count() const noexcept { return count_; }
  /// The number of this member's node.
  std::uint32_t own() const noexcept { return own_; }
  std::uint32_t size_of(std::uint32_t node) const noexcept;
  /// The index in the team of a node's member.
  std::uint32_t member(std::uint32_t node, std::uint32_t local_index) const noexcept;
  std::uint32_t node_of(std::uint32_t index) const noexcept;
  std::uint32_t local_index_of(std::uint32_t index) const noexcept;
  /// Whether each node's members follow one another in the team.
  bool contiguous() const noexcept { return contiguous_; }
  /// Members of the largest node.
  std::uint32_t largest() const noexcept { return largest_; }

 private:
  const JobRegion& region_;
  std::uint32_t count_ = 0;
  std::uint32_t own_ = 0;
  std::uint32_t largest_ = 0;
  bool contiguous_ = true;
  // Empty for the world, which is as the region says.
  std::vector<std::uint32_t> node_of_;         // by index in the team
  std::vector<std::uint32_t> local_index_of_;  // by index in the team
  std::vector<std::uint32_t> starts_;          // by node: where its members begin in `order_`
  std::vector<std::uint32_t> order_;           // indices in the team, node by node
};

/// The tree between nodes along which a barrier raises its signals.
namespace signal_tree {

// Each level costs a latency, and each child an overhead, which is several times smaller.
inline constexpr std::uint32_t kFanIn = 8;

/// Nodes in a row.
struct Children {
  std::uint32_t first;
  std::uint32_t count;
};

constexpr Children children_of(std::uint32_t node, std::uint32_t nodes) noexcept {
  const std::uint32_t wanted = node * kFanIn + 1;
  const std::uint32_t first = wanted < nodes ? wanted : nodes;
  return {first, nodes - first < kFanIn ? nodes - first : kFanIn};
}

/// Of any node but 0.
constexpr std::uint32_t parent_of(std::uint32_t node) noexcept {
  return (node - 1) / kFanIn;
}

}  // namespace signal_tree
}  // namespace coracle::internals
