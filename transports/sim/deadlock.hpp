// Says why a simulated job can't go on: what its ranks wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace coracle::internals::sim {

class SimRank;

/// The waits of `ranks` (of `size`; `dead` of them are out of play) grouped by what and where, with numbers and some of
/// the ranks; and all there is to say about the first few ranks.
std::string explain_waits(std::span<SimRank* const> ranks, std::size_t size, std::span<const std::uint32_t> dead,
                          std::uint64_t now_ns);

}  // namespace coracle::internals::sim
