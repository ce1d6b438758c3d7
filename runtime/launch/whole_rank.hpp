// WholeRank: a Rank with what it has from the start of the layers above it: the team of all ranks, and what moves
// layouts.
#pragma once

#include <cstdint>

#include "runtime/rank/rank.hpp"

namespace coracle::internals {

/// The only way to make a Rank.
class WholeRank final : public Rank {
 public:
  WholeRank(const JobRegion& region, std::uint32_t id, EventLoop& loop);
};

}  // namespace coracle::internals
