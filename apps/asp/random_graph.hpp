// Random graphs of any size, the same on every rank and with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "apps/asp/graph.hpp"
#include "apps/common/split_mix.hpp"

namespace coracle::asp {

/// `degree` arcs from each of `vertices` > 0 vertices to vertices drawn with replacement; whole weights 1..100, so that
/// distances are exact in float.
Graph random_graph(std::size_t vertices, std::size_t degree, std::uint64_t seed);

}  // namespace coracle::asp
