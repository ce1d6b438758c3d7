// Loops over arrays of basic values, for each predefined operation and each basic type that MPI lets it combine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "collectives/data/reduction.hpp"
#include "interfaces/mpi/core/datatype.hpp"

namespace coracle::mpi {

enum class Combining : std::uint8_t {
  none,
  max,
  min,
  sum,
  prod,
  land,
  band,
  lor,
  bor,
  lxor,
  bxor,
  minloc,
  maxloc,
  replace,
  no_op,
  user,
};

/// result[i] = left[i] op right[i].
struct ElementLoop {
  internals::Reduction::Combine function = nullptr;  ///< Its first argument is not used. Null: not defined.
  std::size_t element_bytes = 0;                     ///< From one element to the next.
  std::size_t packed_bytes = 0;                      ///< Without the gaps within pairs.
};

/// By MPI-3.1, 5.9.2 to 5.9.4. Beyond it MPI_CHAR and MPI_BYTE count as integers of 8 bits (signed and unsigned), since
/// programs rely on other libraries' doing so; and of what has the same representation (MPI_INT, MPI_INTEGER), all are
/// allowed what one is. There are none for 16-bit floats: compilers do not agree on the type.
ElementLoop element_loop(Combining combining, Basic basic) noexcept;
/// What `combining` may combine, for messages: "integers and logical values".
const char* domain_of(Combining combining) noexcept;

// By their files.
ElementLoop arithmetic_loop(Combining combining, Basic basic) noexcept;
ElementLoop logical_loop(Combining combining, Basic basic) noexcept;
ElementLoop pair_loop(Combining combining, Basic basic) noexcept;

}  // namespace coracle::mpi
