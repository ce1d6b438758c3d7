// The sum by integers of 128 bits, which both compilers have. The kernels themselves: kernel_loops.cpp.
#include "apps/himeno/kernel.hpp"

#include <cmath>

namespace coracle::himeno {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

constexpr int kUnitBits = 89;
constexpr int kTopBits = 44;

UnsignedWide joined(const ExactSum& sum) noexcept {
  return (UnsignedWide{static_cast<std::uint64_t>(sum.high)} << 64U) | sum.low;
}

ExactSum split(UnsignedWide units) noexcept {
  return {static_cast<std::uint64_t>(units), static_cast<std::int64_t>(static_cast<std::uint64_t>(units >> 64U))};
}

Wide of_halves(std::uint64_t lower, std::uint64_t upper) noexcept {
  return Wide{static_cast<std::int64_t>(upper)} * (Wide{1} << 32) + lower;
}

}  // namespace

void ExactSum::add_square(float value) noexcept {
  const double square = static_cast<double>(value) * static_cast<double>(value);
  const double units = std::nearbyint(std::ldexp(square, kUnitBits));
  *this = split(joined(*this) + static_cast<UnsignedWide>(units));
}

void ExactSum::add_words(std::int64_t top, std::int64_t rest) noexcept {
  const Wide units = Wide{top} * (Wide{1} << (kUnitBits - kTopBits)) + rest;
  *this = split(joined(*this) + static_cast<UnsignedWide>(units));
}

void ExactSum::add_halves(const std::uint64_t (&words)[4]) noexcept {
  const Wide units =
      of_halves(words[2], words[3]) * (Wide{1} << (kUnitBits - kTopBits)) + of_halves(words[0], words[1]);
  *this = split(joined(*this) + static_cast<UnsignedWide>(units));
}

double ExactSum::value() const noexcept {
  return std::ldexp(static_cast<double>(static_cast<Wide>(joined(*this))), -kUnitBits);
}

ExactSum operator+(const ExactSum& first, const ExactSum& second) noexcept {
  return split(joined(first) + joined(second));
}

}  // namespace coracle::himeno
