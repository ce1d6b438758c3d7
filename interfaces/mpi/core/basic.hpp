// Basic: what the values of predefined datatypes are, whatever languages call them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coracle::mpi {

/// What a predefined datatype's values are; a type of another language with the same representation is the same.
enum class Basic : std::uint8_t {
  none,  ///< MPI_DATATYPE_NULL's, and bounds (MPI_LB, MPI_UB)
  byte,
  packed,
  character,  ///< char, Fortran's CHARACTER: no arithmetic
  wide_character,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  float80,   ///< long double of x86-64, 16 bytes
  float128,  ///< REAL*16
  complex32,
  complex64,
  complex80,
  complex128,  ///< COMPLEX*32
  boolean,     ///< C's _Bool, C++'s bool
  logical8,    ///< Fortran's LOGICAL, by bytes
  logical16,
  logical32,
  logical64,
  // Pairs, for MPI_MINLOC and MPI_MAXLOC; laid out as C's structs, Fortran's as two of the same.
  float32_int32,
  float64_int32,
  float80_int32,
  int64_int32,
  int32_int32,
  int16_int32,
  float32_float32,
  float64_float64,
  // Optional ones, for which there is no arithmetic.
  int128,      ///< INTEGER*16
  logical128,  ///< LOGICAL*16
  complex16,   ///< COMPLEX*4
};

/// The parts of a pair, or the one that anything else is; Basic::none stands for no part.
using BasicParts = std::array<Basic, 2>;
BasicParts parts_of(Basic basic) noexcept;

/// Bytes of one value, as it lies in memory between its first and last byte; 0 for none.
std::size_t bytes_of(Basic basic) noexcept;
/// Alignment of the C type, from which epsilon of structs comes; 1 for none.
std::size_t alignment_of(Basic basic) noexcept;
/// Where the second part of a pair begins.
std::size_t second_part_of(Basic basic) noexcept;

}  // namespace coracle::mpi
