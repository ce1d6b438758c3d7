// Bytes of single numbers, there and back.
#include "interfaces/mpi/core/external_values.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi {

namespace {

static_assert(std::endian::native == std::endian::little);

std::uint64_t swapped(std::uint64_t value) noexcept {
  return __builtin_bswap64(value);
}

template <class Word>
Word load(const std::byte* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

template <class Word>
void store(std::byte* to, Word word) noexcept {
  std::memcpy(to, &word, sizeof word);
}

void reverse(const std::byte* from, std::byte* to, std::size_t bytes) noexcept {
  switch (bytes) {
    case 1:
      *to = *from;
      return;
    case 2:
      return store(to, __builtin_bswap16(load<std::uint16_t>(from)));
    case 4:
      return store(to, __builtin_bswap32(load<std::uint32_t>(from)));
    case 8:
      return store(to, swapped(load<std::uint64_t>(from)));
    default:
      std::reverse_copy(from, from + bytes, to);
  }
}

// Of both formats of 16 bytes: sign and exponent, biased by 16383. x87's mantissa has 64 bits, the integer's among
// them; IEEE's 112, without it.
constexpr std::uint64_t kInteger = std::uint64_t{1} << 63;
constexpr std::uint64_t kExponent = 0x7fff;
constexpr int kMore = 112 - 63;

void extended_to_binary128(const std::byte* from, std::byte* to) noexcept {
  const auto mantissa = load<std::uint64_t>(from);
  std::uint64_t sign_exponent = load<std::uint16_t>(from + 8);
  // A subnormal with an integer's bit, which only x87 knows, is a normal one.
  if ((sign_exponent & kExponent) == 0 && (mantissa & kInteger) != 0) ++sign_exponent;
  const std::uint64_t fraction = mantissa & ~kInteger;
  store(to, swapped(sign_exponent << 48 | fraction >> (64 - kMore)));
  store(to + 8, swapped(fraction << kMore));
}

/// Rounds to the nearest, of two to the even one.
void binary128_to_extended(const std::byte* from, std::byte* to) noexcept {
  const std::uint64_t high = swapped(load<std::uint64_t>(from));
  const std::uint64_t low = swapped(load<std::uint64_t>(from + 8));
  std::uint64_t sign_exponent = high >> 48;
  std::uint64_t mantissa = (high & 0xffff'ffff'ffff) << (64 - kMore) | low >> kMore;
  const std::uint64_t rest = low & ((std::uint64_t{1} << kMore) - 1);
  const std::uint64_t half = std::uint64_t{1} << (kMore - 1);
  if ((sign_exponent & kExponent) == kExponent) {
    // Infinite, or no number, which must stay none.
    mantissa |= kInteger | (mantissa == 0 && rest != 0 ? kInteger >> 1 : 0);
  } else {
    if (rest > half || (rest == half && (mantissa & 1) != 0)) ++mantissa;
    // What was rounded up to the integer's bit has moved into the next exponent, whose mantissa is 0.
    const bool carried = (mantissa & kInteger) != 0;
    if (carried) ++sign_exponent;
    if ((sign_exponent & kExponent) != 0) mantissa |= kInteger;
  }
  store(to, mantissa);
  store(to + 8, sign_exponent);
}

std::int64_t load_native(const ScalarForm& form, const std::byte* from) noexcept {
  if (form.native_bytes == 8) return load<std::int64_t>(from);
  return form.kind == ScalarKind::signed_ ? load<std::int32_t>(from) : std::int64_t{load<std::uint32_t>(from)};
}

/// Narrows an integer.
void narrow(const ScalarForm& form, const std::byte* from, std::byte* to) {
  const std::int64_t value = load_native(form, from);
  const int bits = form.external_bytes * 8;
  const std::int64_t beyond = value >> (form.kind == ScalarKind::signed_ ? bits - 1 : bits);
  if (beyond != 0 && (beyond != -1 || form.kind != ScalarKind::signed_)) {
    if (form.kind == ScalarKind::signed_)
      raise(ErrorClass::conversion, "{} does not fit external32's {} bytes: use a datatype of 64 bits, as MPI_INT64_T",
            value, form.external_bytes);
    raise(ErrorClass::conversion, "{} does not fit external32's {} bytes: use a wider datatype, as MPI_UINT64_T",
          static_cast<std::uint64_t>(value), form.external_bytes);
  }
  std::byte bytes[8];
  store(bytes, swapped(static_cast<std::uint64_t>(value)));
  std::memcpy(to, bytes + 8 - form.external_bytes, form.external_bytes);
}

void widen(const ScalarForm& form, const std::byte* from, std::byte* to) noexcept {
  std::byte bytes[8] = {};
  std::memcpy(bytes, from, form.external_bytes);
  const std::uint64_t high = swapped(load<std::uint64_t>(bytes));
  const int bits = 64 - form.external_bytes * 8;
  const std::uint64_t value = form.kind == ScalarKind::signed_
                                  ? static_cast<std::uint64_t>(static_cast<std::int64_t>(high) >> bits)
                                  : high >> bits;
  std::memcpy(to, &value, form.native_bytes);
}

void scalar_to_external(const ScalarForm& form, const std::byte* from, std::byte* to) {
  if (form.kind == ScalarKind::same) return reverse(from, to, form.native_bytes);
  if (form.kind == ScalarKind::extended) return extended_to_binary128(from, to);
  narrow(form, from, to);
}

void scalar_from_external(const ScalarForm& form, const std::byte* from, std::byte* to) {
  if (form.kind == ScalarKind::same) return reverse(from, to, form.native_bytes);
  if (form.kind == ScalarKind::extended) return binary128_to_extended(from, to);
  widen(form, from, to);
}

ScalarForm scalar_form(Basic part, std::uint8_t external_long) noexcept {
  const auto bytes = static_cast<std::uint8_t>(bytes_of(part));
  if (part == Basic::wide_character) return {ScalarKind::unsigned_, bytes, 2};
  if (part == Basic::int64 && external_long < bytes) return {ScalarKind::signed_, bytes, external_long};
  if (part == Basic::uint64 && external_long < bytes) return {ScalarKind::unsigned_, bytes, external_long};
  if (part == Basic::float80 && std::numeric_limits<long double>::digits == 64)
    return {ScalarKind::extended, bytes, 16};
  return {ScalarKind::same, bytes, bytes};
}

/// The parts of a complex value; else none.
Basic half_of(Basic basic) noexcept {
  switch (basic) {
    case Basic::complex16:
      return Basic::float16;
    case Basic::complex32:
      return Basic::float32;
    case Basic::complex64:
      return Basic::float64;
    case Basic::complex80:
      return Basic::float80;
    case Basic::complex128:
      return Basic::float128;
    default:
      return Basic::none;
  }
}

}  // namespace

Count ValueForm::native_bytes() const noexcept {
  return Count{repetitions} * (scalars[0].native_bytes + scalars[1].native_bytes);
}

Count ValueForm::external_bytes() const noexcept {
  return Count{repetitions} * (scalars[0].external_bytes + scalars[1].external_bytes);
}

ValueForm value_form(const PredefinedForm& form) noexcept {
  const Basic half = half_of(form.basic);
  if (half != Basic::none) return {{scalar_form(half, 0), {}}, 1, 2 * static_cast<int>(form.count)};
  const BasicParts parts = parts_of(form.basic);
  if (parts[1] == Basic::none)
    return {{scalar_form(parts[0], form.external_long), {}}, 1, static_cast<int>(form.count)};
  return {{scalar_form(parts[0], form.external_long), scalar_form(parts[1], form.external_long)}, 2, 1};
}

void to_external(const ValueForm& form, Count count, const std::byte* native, std::byte* external) {
  for (Count i = 0; i < count * form.repetitions; ++i)
    for (int k = 0; k < form.count; ++k) {
      scalar_to_external(form.scalars[k], native, external);
      native += form.scalars[k].native_bytes;
      external += form.scalars[k].external_bytes;
    }
}

void from_external(const ValueForm& form, Count count, const std::byte* external, std::byte* native) {
  for (Count i = 0; i < count * form.repetitions; ++i)
    for (int k = 0; k < form.count; ++k) {
      scalar_from_external(form.scalars[k], external, native);
      native += form.scalars[k].native_bytes;
      external += form.scalars[k].external_bytes;
    }
}

}  // namespace coracle::mpi
