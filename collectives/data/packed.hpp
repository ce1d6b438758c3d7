// Packed: the blocks of a team's members in the order of its nodes, in which they go from node to node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/data/blocks.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

class Packed {
 public:
  /// `blocks`: one for each member; must outlive this.
  Packed(const Team& team, const Blocks& blocks)
      : nodes_(team.nodes()), blocks_(blocks), by_node_(blocks_by_node(team.nodes(), blocks)) {}

  /// All blocks of each node.
  const Blocks& by_node() const noexcept { return by_node_; }
  /// Whether that is the order of the team anyhow.
  bool is_plain() const noexcept { return nodes_.contiguous(); }
  /// Where a member's block lies among those of its node.
  std::size_t offset_in_node(std::uint32_t node, std::uint32_t place) const {
    std::size_t offset = 0;
    for (std::uint32_t before = 0; before < place; ++before) offset += blocks_.bytes(nodes_.member(node, before));
    return offset;
  }

  /// Calls `copy(offset when packed, member)` for every member.
  template <class Copy>
  void for_each(const Copy& copy) const {
    std::size_t offset = 0;
    for (std::uint32_t node = 0; node < nodes_.count(); ++node) {
      for (std::uint32_t place = 0; place < nodes_.size_of(node); ++place) {
        const std::uint32_t member = nodes_.member(node, place);
        copy(offset, member);
        offset += blocks_.bytes(member);
      }
    }
  }
  void pack(std::span<const std::byte> all, std::span<std::byte> packed) const {
    for_each([&](std::size_t offset, std::uint32_t member) {
      const auto block = blocks_.of(all, member);
      std::copy(block.begin(), block.end(), packed.subspan(offset).begin());
    });
  }
  void unpack(std::span<const std::byte> packed, std::span<std::byte> all) const {
    for_each([&](std::size_t offset, std::uint32_t member) {
      const auto block = blocks_.of(all, member);
      std::copy_n(packed.subspan(offset).begin(), block.size(), block.begin());
    });
  }

 private:
  static Blocks blocks_by_node(const TeamNodes& nodes, const Blocks& blocks) {
    std::vector<std::size_t> bytes(nodes.count());
    for (std::uint32_t node = 0; node < nodes.count(); ++node)
      for (std::uint32_t place = 0; place < nodes.size_of(node); ++place)
        bytes[node] += blocks.bytes(nodes.member(node, place));
    return {bytes, 1};
  }

  const TeamNodes& nodes_;
  const Blocks& blocks_;
  Blocks by_node_;
};

}  // namespace coracle::internals
