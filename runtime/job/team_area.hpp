// TeamArea: the part of every rank's segment that its teams' signals take.
#pragma once

#include <cstdint>

#include "runtime/job/remote.hpp"

namespace coracle::internals {

/// A team's signals, at the same offset of every member's segment, so that nobody has to ask for them.
struct TeamArea {
  Signal arrived;    ///< Raised by this member's children in the barrier's tree.
  Signal released;   ///< Raised by its parent.
  Signal node_area;  ///< Not raised: where in its segment this member's part of the node area lies (node_area.hpp).

  static constexpr std::uint32_t kSlots = 256;  ///< Teams that one rank can be in at a time.
  static constexpr std::uint64_t kAllBytes = 64 * 1024;
};
static_assert(sizeof(TeamArea) * TeamArea::kSlots <= TeamArea::kAllBytes);

}  // namespace coracle::internals
