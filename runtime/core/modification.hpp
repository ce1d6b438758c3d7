// Modification: what an atomic does beside adding integers and comparing, and to what kind of number. One byte, which
// travels as it is.
#pragma once

#include <cstdint>

namespace coracle::internals {

class Modification {
 public:
  enum class What : std::uint8_t { load = 1, store, swap, bit_and, bit_or, bit_xor, add, min, max };
  /// As what the bytes are combined.
  enum class Number : std::uint8_t { natural, integer, real };

  /// None.
  constexpr Modification() = default;
  constexpr Modification(What what, Number number) noexcept
      : code_(static_cast<std::uint8_t>(static_cast<unsigned>(what) | static_cast<unsigned>(number) << kNumberShift)) {}
  /// Of a byte that has come from elsewhere; is_valid() tells whether it is any.
  static constexpr Modification of_code(std::uint8_t code) noexcept {
    Modification modification;
    modification.code_ = code;
    return modification;
  }

  constexpr std::uint8_t code() const noexcept { return code_; }
  constexpr What what() const noexcept { return static_cast<What>(code_ & kWhatMask); }
  constexpr Number number() const noexcept { return static_cast<Number>(code_ >> kNumberShift); }
  constexpr bool is_valid() const noexcept {
    const bool is_of_bits = what() == What::bit_and || what() == What::bit_or || what() == What::bit_xor;
    return what() >= What::load && what() <= What::max && number() <= Number::real &&
           !(is_of_bits && number() == Number::real);
  }
  constexpr bool operator==(const Modification&) const noexcept = default;

 private:
  static constexpr unsigned kNumberShift = 4;
  static constexpr std::uint8_t kWhatMask = 0x0f;
  std::uint8_t code_ = 0;
};

}  // namespace coracle::internals
