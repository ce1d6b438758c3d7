// Room: whether what a collective gives to every member can be had at all where members share a process or a machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Throws Error (ENOMEM) where all members' results, of `count` elements of `bytes` each, do not fit into the memory
/// that they share in `sim`: says how much they need, how much there is, and how many members would fit.
void refuse_results(const Team& team, const char* what, std::size_t count, std::size_t bytes);

/// The same, before anything is taken; costs nothing where it is little.
inline void check_results(const Team& team, const char* what, std::size_t count, std::size_t bytes) {
  constexpr std::uint64_t kLittle = std::uint64_t{1} << 28;
  if (count * bytes > kLittle / team.size()) [[unlikely]]
    refuse_results(team, what, count, bytes);
}

}  // namespace coracle::internals
