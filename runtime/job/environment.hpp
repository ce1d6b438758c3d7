// What the launcher tells a process by its environment.
#pragma once

#include <cstdint>

namespace coracle::internals {

/// The rank number that the launcher gave this process ("CORACLE_RANK"), or 0.
std::uint32_t rank_from_environment();

}  // namespace coracle::internals
