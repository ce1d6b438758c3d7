// Sizes and alignments of basic values: those of x86-64's and arm64's C, and of gfortran.
#include "interfaces/mpi/core/basic.hpp"

#include <algorithm>

namespace coracle::mpi {

namespace {

/// Of what is no pair.
std::size_t bytes_of_part(Basic basic) noexcept {
  switch (basic) {
    case Basic::byte:
    case Basic::packed:
    case Basic::character:
    case Basic::int8:
    case Basic::uint8:
    case Basic::boolean:
    case Basic::logical8:
      return 1;
    case Basic::int16:
    case Basic::uint16:
    case Basic::float16:
    case Basic::logical16:
      return 2;
    case Basic::wide_character:
    case Basic::int32:
    case Basic::uint32:
    case Basic::float32:
    case Basic::logical32:
    case Basic::complex16:
      return 4;
    case Basic::int64:
    case Basic::uint64:
    case Basic::float64:
    case Basic::logical64:
    case Basic::complex32:
      return 8;
    case Basic::float80:
    case Basic::float128:
    case Basic::complex64:
    case Basic::int128:
    case Basic::logical128:
      return 16;
    case Basic::complex80:
    case Basic::complex128:
      return 32;
    default:
      return 0;
  }
}

bool is_complex(Basic basic) noexcept {
  return basic == Basic::complex16 || basic == Basic::complex32 || basic == Basic::complex64 ||
         basic == Basic::complex80 || basic == Basic::complex128;
}

std::size_t alignment_of_part(Basic basic) noexcept {
  return std::max<std::size_t>(1, bytes_of_part(basic) / (is_complex(basic) ? 2 : 1));
}

}  // namespace

BasicParts parts_of(Basic basic) noexcept {
  switch (basic) {
    case Basic::float32_int32:
      return {Basic::float32, Basic::int32};
    case Basic::float64_int32:
      return {Basic::float64, Basic::int32};
    case Basic::float80_int32:
      return {Basic::float80, Basic::int32};
    case Basic::int64_int32:
      return {Basic::int64, Basic::int32};
    case Basic::int32_int32:
      return {Basic::int32, Basic::int32};
    case Basic::int16_int32:
      return {Basic::int16, Basic::int32};
    case Basic::float32_float32:
      return {Basic::float32, Basic::float32};
    case Basic::float64_float64:
      return {Basic::float64, Basic::float64};
    default:
      return {basic, Basic::none};
  }
}

std::size_t second_part_of(Basic basic) noexcept {
  const BasicParts parts = parts_of(basic);
  return std::max(bytes_of_part(parts[0]), alignment_of_part(parts[1]));
}

std::size_t bytes_of(Basic basic) noexcept {
  const BasicParts parts = parts_of(basic);
  if (parts[1] == Basic::none) return bytes_of_part(basic);
  return second_part_of(basic) + bytes_of_part(parts[1]);
}

std::size_t alignment_of(Basic basic) noexcept {
  const BasicParts parts = parts_of(basic);
  return std::max(alignment_of_part(parts[0]), alignment_of_part(parts[1]));
}

}  // namespace coracle::mpi
