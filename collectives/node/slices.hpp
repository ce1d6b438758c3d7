// Slices: large data that the members of a node reduce piece by piece, each member a slice of every piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/data/blocks.hpp"
#include "collectives/node/local_collective.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals::within {

/// A piece, divided into a slice for each local member.
struct Piece {
  std::size_t begin;
  Blocks slices;

  std::size_t offset(std::uint32_t local_index) const { return begin + slices.offset(local_index); }
};

/// `room`: where each local member has the result of its slice, from the local index of its results on. `own`: where
/// this member has it, perhaps in `result`.
Task<> copy_slices(LocalCollective& local, const Piece& piece, std::size_t room, const std::byte* own,
                   std::span<std::byte> result);

}  // namespace coracle::internals::within
