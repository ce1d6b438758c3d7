// Values whose size only their owner knows, as bytes: what strings, vectors and the like are in a collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/team/team.hpp"

namespace coracle::internals {

/// The members' values, one behind the other in the team's order, and how long each is.
struct SizedValues {
  std::vector<std::byte> bytes;
  std::vector<std::size_t> sizes;
};

/// Gives the `value` of the member at `root`; those of others are not looked at.
Task<std::vector<std::byte>> broadcast_sized(Team& team, std::vector<std::byte> value, std::uint32_t root,
                                             std::source_location where);
/// Gives all.
Task<SizedValues> gather_all_sized(Team& team, std::vector<std::byte> mine, std::source_location where);
/// Gives all at `root`, and nothing elsewhere.
Task<SizedValues> gather_sized(Team& team, std::vector<std::byte> mine, std::uint32_t root, std::source_location where);

}  // namespace coracle::internals
