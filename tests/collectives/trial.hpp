// One collective with made-up data, whose result every member checks by itself: for tests on any team in any placement.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <string>

namespace coracle::internals::test {

enum class Kind : std::uint8_t {
  reduce,
  all_reduce,
  reduce_scatter,
  reduce_scatter_v,
  scan,
  exclusive_scan,
  gather,
  gather_v,
  gather_all,
  gather_all_v,
  scatter,
  scatter_v,
  all_to_all,
  all_to_all_v,
  all_to_all_layouts,
  all_to_all_w,
  // The bytes beneath: the result apart from the values, blocks that do not lie in a row.
  reduce_apart,
  all_reduce_apart,
  scan_apart,
  exclusive_scan_apart,
  gather_placed,
  gather_all_placed,
  scatter_placed,
  all_to_all_placed,
};
inline constexpr std::uint32_t kKinds = 24;

struct Trial {
  Kind kind;
  std::size_t
      elements;  ///< Of 8 bytes, of each member or in each block; of blocks of different size about the average.
  std::uint32_t root;
  std::uint64_t round;       ///< The data depends on it.
  bool commutative = false;  ///< Which operation is tried.
};

std::string text_of(const Trial& trial);

/// Throws std::runtime_error where this member gets something else than it should.
coracle::internals::Task<> attempt(coracle::internals::Team& team, Trial trial);

}  // namespace coracle::internals::test
