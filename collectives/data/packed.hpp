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
  Packed(const Team& team, const Blocks& blocks) : nodes_(team.nodes()), blocks_(blocks), by_node_(0, 0) {
    std::vector<std::size_t> bytes(nodes_.count());
    for_each([&](std::size_t, std::uint32_t member) { bytes[nodes_.node_of(member)] += blocks.bytes(member); });
    by_node_ = {bytes, 1};
  }

  /// All blocks of each node.
  const Blocks& by_node() const noexcept { return by_node_; }
  /// Whether that is how they lie anyhow.
  bool is_plain() const noexcept { return nodes_.contiguous() && blocks_.in_a_row(); }
  /// Where a member's block lies among those of its node.
  std::size_t offset_in_node(std::uint32_t member) const {
    const std::uint32_t node = nodes_.node_of(member);
    std::size_t offset = 0;
    for (std::uint32_t before = 0; before < nodes_.local_index_of(member); ++before)
      offset += blocks_.bytes(nodes_.member(node, before));
    return offset;
  }
  void pack(std::span<const std::byte> all, std::span<std::byte> packed) const {
    for_each(
        [&](std::size_t offset, std::uint32_t member) { copy_bytes(blocks_.of(all, member), packed.subspan(offset)); });
  }
  void unpack(std::span<const std::byte> packed, std::span<std::byte> all) const {
    for_each([&](std::size_t offset, std::uint32_t member) {
      copy_bytes(packed.subspan(offset, blocks_.bytes(member)), blocks_.of(all, member));
    });
  }

 private:
  /// Calls `use(offset when packed, member)` for every member. No list of offsets: with thousands of ranks in one
  /// process (`sim`) each would have one.
  template <class Use>
  void for_each(const Use& use) const {
    std::size_t offset = 0;
    for (std::uint32_t node = 0; node < nodes_.count(); ++node) {
      for (std::uint32_t local_index = 0; local_index < nodes_.size_of(node); ++local_index) {
        const std::uint32_t member = nodes_.member(node, local_index);
        use(offset, member);
        offset += blocks_.bytes(member);
      }
    }
  }

  const TeamNodes& nodes_;
  const Blocks& blocks_;
  Blocks by_node_;
};

}  // namespace coracle::internals
