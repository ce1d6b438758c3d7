// Basic values in external32 (MPI-4.1, 15.5.2): big-endian, IEEE, and C's long and wide characters of half their size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interfaces/mpi/core/datatype.hpp"

namespace coracle::mpi {

enum class ScalarKind : std::uint8_t {
  same,     ///< The bytes in the reverse order.
  signed_,  ///< Integers that are narrower outside.
  unsigned_,
  extended,  ///< x87's format, IEEE's binary128 outside.
};

/// One number of a basic value.
struct ScalarForm {
  ScalarKind kind = ScalarKind::same;
  std::uint8_t native_bytes = 0;
  std::uint8_t external_bytes = 0;
};

/// What a value of a predefined datatype consists of: numbers in a row.
struct ValueForm {
  ScalarForm scalars[2];
  int count = 0;        ///< Of scalars that differ: 1 or 2.
  int repetitions = 1;  ///< Of these: 2 in complex values.
  Count native_bytes() const noexcept;
  Count external_bytes() const noexcept;
};
ValueForm value_form(const PredefinedForm& form) noexcept;

/// Converts `count` values; gaps are in neither. Throws MpiError (conversion) for a number that does not fit.
void to_external(const ValueForm& form, Count count, const std::byte* native, std::byte* external);
void from_external(const ValueForm& form, Count count, const std::byte* external, std::byte* native);

}  // namespace coracle::mpi
