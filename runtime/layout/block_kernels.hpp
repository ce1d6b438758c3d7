// The inner loops that move blocks of one length: from places at a constant step or listed, to such places.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle::internals::layouts {

/// Where the blocks of one side lie, seen from the address that comes with it: rows of blocks `stride` apart, or at
/// `offsets` from the beginning of the row.
struct Displacements {
  std::int64_t stride = 0;
  std::int64_t row_stride = 0;
  const std::int64_t* offsets = nullptr;
  const std::int32_t* narrow = nullptr;  ///< The same as `offsets`, or null.
};

/// Moves rows x count blocks of `block_bytes`, in packed order or not. Memory of the two sides must be apart.
void move_blocks(std::byte* target, const Displacements& target_places, const std::byte* source,
                 const Displacements& source_places, std::uint64_t block_bytes, std::int64_t count,
                 std::int64_t rows) noexcept;

/// A memcpy of any length, in pieces. For lengths from some KB to some MB the C library's takes the processor's string
/// moves (rep movsb), which on AMD's processors become many times slower where the target lies a few bytes
/// further into its page than the source; pieces of 1 KiB never do, and cost nothing measurable elsewhere.
void move_run(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept;

/// A row of `count` blocks of unequal length, to one run or from it.
void gather_unequal(std::byte* target, const std::byte* source, const std::int64_t* offsets,
                    const std::uint64_t* starts, std::int64_t count) noexcept;
void scatter_unequal(std::byte* target, const std::byte* source, const std::int64_t* offsets,
                     const std::uint64_t* starts, std::int64_t count) noexcept;

}  // namespace coracle::internals::layouts
