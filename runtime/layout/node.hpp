// Nodes: the canonical form in which layouts are kept. Where each byte lies, in packed order, as a small tree whose
// leaves are runs of bytes; what the constructors of Layout were called with is not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/std_parts.hpp"

namespace coracle::internals::layouts {

struct LayoutNode;
using NodePointer = std::shared_ptr<const LayoutNode>;

/// More levels than any program has; a limit keeps cursors of fixed size and refuses a peer's nonsense.
inline constexpr int kDepthMax = 32;

/// Thrown by what builds nodes, when bytes would lie further than 2^63 from each other, or be more.
struct TooLarge {};
/// Thrown by what builds nodes, beyond kDepthMax.
struct TooDeep {};

enum class NodeKind : std::uint8_t {
  run,       ///< `size` bytes in a row.
  strided,   ///< `count` children, `stride` apart.
  list,      ///< A child at each of `offsets`.
  blocks,    ///< Runs of unequal length at `offsets`.
  sequence,  ///< `parts` that differ, at `offsets`.
};

/// The first byte in packed order lies at 0; children too begin there, so that what is alike compares equal. Holds no
/// pointer to code, and is never changed: ranks of one address space read each other's by address.
struct LayoutNode {
  NodeKind kind = NodeKind::run;
  int depth = 1;
  std::uint64_t size = 0;    ///< Bytes, at least 1, below 2^63.
  std::int64_t low = 0;      ///< Lowest byte, at most 0.
  std::int64_t high = 0;     ///< End of the highest byte.
  std::uint64_t blocks = 1;  ///< Runs.
  std::uint64_t shortest = 0;
  std::uint64_t longest = 0;
  std::uint64_t lines = 1;  ///< Estimate of the cache lines touched.
  std::int64_t count = 1;   ///< Of strided, list, blocks, sequence: at least 2 (after decoding: 1).
  std::int64_t stride = 0;
  NodePointer child;                  ///< Of strided, list.
  std::vector<std::int64_t> offsets;  ///< Of list, blocks, sequence; the first is 0.
  std::vector<std::int32_t> narrow;   ///< The same where they fit, of lists of runs: half as much to read. Else empty.
  std::vector<std::uint64_t> starts;  ///< Of blocks, sequence: where each begins in packed order; one more for the end.
  std::vector<NodePointer> parts;     ///< Of sequence.
};

/// A node whose first byte lies at `offset`. Without node: no bytes at all.
struct PlacedNode {
  std::int64_t offset = 0;
  NodePointer node;
};

/// Sums and products that throw TooLarge.
std::int64_t add(std::int64_t first, std::int64_t second);
std::int64_t multiply(std::int64_t first, std::int64_t second);

/// Exactly these nodes, checked for TooLarge and TooDeep. `offsets` need not begin with 0.
NodePointer make_run(std::uint64_t bytes);
NodePointer make_strided(NodePointer child, std::int64_t count, std::int64_t stride);
PlacedNode make_list(NodePointer child, std::vector<std::int64_t> offsets);
PlacedNode make_blocks(std::vector<std::int64_t> offsets, std::span<const std::uint64_t> lengths);
PlacedNode make_sequence(const std::vector<PlacedNode>& parts);

// Normalised: equal typemaps that were described differently mostly get the same nodes, and as few loops as will do.

/// `count` times the same, `stride` apart: runs that touch become one, strides that continue each other too.
PlacedNode repeat(const PlacedNode& what, std::int64_t count, std::int64_t stride);

/// The same at each of `offsets` (to which that of `what` is added): constant steps become strides, also by rows.
PlacedNode repeat_at(const PlacedNode& what, std::vector<std::int64_t> offsets);

/// Runs in this order; those without bytes are left out, and those that touch become one. Lists of one length are
/// preferred, also where a few neighbours have to stay apart for it: their kernels need no look at each length.
PlacedNode runs(std::vector<std::int64_t> offsets, std::vector<std::uint64_t> lengths);

/// One after the other; those without bytes are left out.
PlacedNode sequence(std::vector<PlacedNode> parts);

/// Whether the same bytes are described in the same form.
bool alike(const LayoutNode* first, const LayoutNode* second);

}  // namespace coracle::internals::layouts
