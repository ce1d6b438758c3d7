// Packed: the blocks of a team's members in the order of its nodes, in which they go from node to node.
#pragma once

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
      : nodes_(team.nodes()), blocks_(blocks), offsets_(blocks.count()), by_node_(0, 0) {
    std::vector<std::size_t> bytes(nodes_.count());
    std::size_t offset = 0;
    for (std::uint32_t node = 0; node < nodes_.count(); ++node)
      for (std::uint32_t place = 0; place < nodes_.size_of(node); ++place) {
        const std::uint32_t member = nodes_.member(node, place);
        offsets_[member] = offset;
        offset += blocks.bytes(member);
        bytes[node] += blocks.bytes(member);
      }
    by_node_ = {bytes, 1};
  }

  /// All blocks of each node.
  const Blocks& by_node() const noexcept { return by_node_; }
  /// Whether that is the order of the team anyhow.
  bool is_plain() const noexcept { return nodes_.contiguous(); }
  /// Where a member's block lies among those of its node.
  std::size_t offset_in_node(std::uint32_t member) const {
    return offsets_[member] - by_node_.offset(nodes_.node_of(member));
  }
  void pack(std::span<const std::byte> all, std::span<std::byte> packed) const {
    for (std::uint32_t member = 0; member < blocks_.count(); ++member)
      copy_bytes(blocks_.of(all, member), packed.subspan(offsets_[member]));
  }
  void unpack(std::span<const std::byte> packed, std::span<std::byte> all) const {
    for (std::uint32_t member = 0; member < blocks_.count(); ++member)
      copy_bytes(packed.subspan(offsets_[member], blocks_.bytes(member)), blocks_.of(all, member));
  }

 private:
  const TeamNodes& nodes_;
  const Blocks& blocks_;
  std::vector<std::size_t> offsets_;  // by member
  Blocks by_node_;
};

}  // namespace coracle::internals
