// Normalisation: equal typemaps that were described differently mostly get the same nodes, and as few loops as will do.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/layout/node.hpp"

namespace coracle::internals::layouts {

/// `count` times the same, `stride` apart: runs that touch become one, strides that continue each other too.
PlacedNode repeat(const PlacedNode& what, std::int64_t count, std::int64_t stride);

/// The same at each of `offsets` (to which that of `what` is added): constant steps become strides, also by rows.
PlacedNode repeat_at(const PlacedNode& what, std::vector<std::int64_t> offsets);

/// Runs in this order; those without bytes are left out, and those that touch become one. Lists of one length are
/// preferred, also where a few neighbours have to stay apart for it: their kernels need no look at each length.
PlacedNode runs(std::vector<std::int64_t> offsets, std::vector<std::uint64_t> lengths);

/// One after the other; those without bytes are left out.
PlacedNode sequence(std::vector<PlacedNode> parts);

}  // namespace coracle::internals::layouts
