// Trials of transfers between layouts, for every placement and transport: random ones, compared byte by byte with what
// their typemaps say, and large ones.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>

namespace coracle::internals::test {

/// Every rank calls these, with the same arguments. They throw std::runtime_error for a byte that is not as it must be,
/// inside or outside of what was to be written.

/// `rounds` transfers of each rank to a neighbour that differs from round to round (itself, too): puts and gets between
/// two random layouts, awaited in all ways.
Task<> try_random_transfers(Rank& self, std::uint64_t seed, std::uint32_t rounds);

/// The same of random strided transfers, of numbers of 2 bytes.
Task<> try_strided_transfers(Rank& self, std::uint64_t seed, std::uint32_t rounds);

/// A matrix of rows x columns numbers that is put, and got back, transposed; then put as a tile of a larger one.
Task<> try_matrix(Rank& self, std::uint32_t rows, std::uint32_t columns);

}  // namespace coracle::internals::test
