// MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD.
#include <type_traits>

#include "interfaces/mpi/core/element_loop_of.hpp"

namespace coracle::mpi {

namespace {

#if defined(__SIZEOF_FLOAT128__)
__extension__ using Float128 = __float128;
#else
using Float128 = long double;
#endif
static_assert(sizeof(Float128) == 16);

/// Integers wrap around, as the machine's do; in C++ only unsigned ones may, and those that are not promoted to int.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) < sizeof(unsigned), unsigned, std::make_unsigned_t<T>>;

struct Sum {
  template <class T>
  constexpr T operator()(T left, T right) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(left) + static_cast<Wrapping<T>>(right));
    else
      return left + right;
  }
};

struct Product {
  template <class T>
  constexpr T operator()(T left, T right) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(left) * static_cast<Wrapping<T>>(right));
    else
      return left * right;
  }
};

/// By the school's formula, as Fortran's compilers have it: C's rules for infinite parts cost a call for each value.
template <class T>
struct Complex {
  T real;
  T imaginary;
  friend constexpr Complex operator+(Complex left, Complex right) {
    return {left.real + right.real, left.imaginary + right.imaginary};
  }
  friend constexpr Complex operator*(Complex left, Complex right) {
    return {left.real * right.real - left.imaginary * right.imaginary,
            left.real * right.imaginary + left.imaginary * right.real};
  }
};

template <class Operation>
ElementLoop over_integers(Basic basic) noexcept {
  switch (basic) {
    case Basic::character:
    case Basic::int8:
      return detail::loop_of<std::int8_t, Operation>();
    case Basic::int16:
      return detail::loop_of<std::int16_t, Operation>();
    case Basic::int32:
      return detail::loop_of<std::int32_t, Operation>();
    case Basic::int64:
      return detail::loop_of<std::int64_t, Operation>();
    case Basic::byte:
    case Basic::uint8:
      return detail::loop_of<std::uint8_t, Operation>();
    case Basic::uint16:
      return detail::loop_of<std::uint16_t, Operation>();
    case Basic::uint32:
      return detail::loop_of<std::uint32_t, Operation>();
    case Basic::uint64:
      return detail::loop_of<std::uint64_t, Operation>();
    default:
      return {};
  }
}

template <class Operation>
ElementLoop over_real_numbers(Basic basic) noexcept {
  switch (basic) {
    case Basic::float32:
      return detail::loop_of<float, Operation>();
    case Basic::float64:
      return detail::loop_of<double, Operation>();
    case Basic::float80:
      return detail::loop_of<long double, Operation>();
    case Basic::float128:
      return detail::loop_of<Float128, Operation>();
    default:
      return over_integers<Operation>(basic);
  }
}

template <class Operation>
ElementLoop over_numbers(Basic basic) noexcept {
  switch (basic) {
    case Basic::complex32:
      return detail::loop_of<Complex<float>, Operation>();
    case Basic::complex64:
      return detail::loop_of<Complex<double>, Operation>();
    case Basic::complex80:
      return detail::loop_of<Complex<long double>, Operation>();
    case Basic::complex128:
      return detail::loop_of<Complex<Float128>, Operation>();
    default:
      return over_real_numbers<Operation>(basic);
  }
}

}  // namespace

ElementLoop arithmetic_loop(Combining combining, Basic basic) noexcept {
  switch (combining) {
    case Combining::max:
      return over_real_numbers<internals::Max>(basic);
    case Combining::min:
      return over_real_numbers<internals::Min>(basic);
    case Combining::sum:
      return over_numbers<Sum>(basic);
    case Combining::prod:
      return over_numbers<Product>(basic);
    default:
      return {};
  }
}

}  // namespace coracle::mpi
