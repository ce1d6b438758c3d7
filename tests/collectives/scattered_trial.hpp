// An all_to_all between random nested layouts, another at every member, whose result each checks byte by byte against
// typemaps: for tests on any team in any placement.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>

namespace coracle::internals::test {

struct ScatteredTrial {
  std::uint64_t seed;
  std::uint64_t block_bytes;  ///< About, of each block; exactly, where all are alike.
  bool differ;                ///< all_to_all_w, with other layouts and sizes for each member.
};

/// Throws std::runtime_error where this member gets something else than it should.
coracle::internals::Task<> attempt(coracle::internals::Team& team, ScatteredTrial trial);

}  // namespace coracle::internals::test
