// MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR: whether integers are signed makes no difference to them.
#include "interfaces/mpi/core/element_loop_of.hpp"

namespace coracle::mpi {

namespace {

// Without the && and || of C++, which branch. Any value but 0 is true, in Fortran's LOGICAL as well; the result is 1.
struct LogicalAnd {
  template <class T>
  constexpr T operator()(T left, T right) const {
    return static_cast<T>(static_cast<T>(left != 0) & static_cast<T>(right != 0));
  }
};
struct LogicalOr {
  template <class T>
  constexpr T operator()(T left, T right) const {
    return static_cast<T>((left | right) != 0);
  }
};
struct LogicalXor {
  template <class T>
  constexpr T operator()(T left, T right) const {
    return static_cast<T>((left != 0) != (right != 0));
  }
};
struct BitAnd {
  template <class T>
  constexpr T operator()(T left, T right) const {
    return static_cast<T>(left & right);
  }
};
struct BitOr {
  template <class T>
  constexpr T operator()(T left, T right) const {
    return static_cast<T>(left | right);
  }
};
struct BitXor {
  template <class T>
  constexpr T operator()(T left, T right) const {
    return static_cast<T>(left ^ right);
  }
};

template <class Operation>
ElementLoop over_integers_of(std::size_t bytes) noexcept {
  switch (bytes) {
    case 1:
      return detail::loop_of<std::uint8_t, Operation>();
    case 2:
      return detail::loop_of<std::uint16_t, Operation>();
    case 4:
      return detail::loop_of<std::uint32_t, Operation>();
    case 8:
      return detail::loop_of<std::uint64_t, Operation>();
    default:
      return {};
  }
}

std::size_t bytes_of_integer(Basic basic) noexcept {
  switch (basic) {
    case Basic::byte:
    case Basic::character:
    case Basic::int8:
    case Basic::uint8:
      return 1;
    case Basic::int16:
    case Basic::uint16:
      return 2;
    case Basic::int32:
    case Basic::uint32:
      return 4;
    case Basic::int64:
    case Basic::uint64:
      return 8;
    default:
      return 0;
  }
}

std::size_t bytes_of_logical(Basic basic) noexcept {
  switch (basic) {
    case Basic::boolean:
    case Basic::logical8:
      return 1;
    case Basic::logical16:
      return 2;
    case Basic::logical32:
      return 4;
    case Basic::logical64:
      return 8;
    default:
      return bytes_of_integer(basic);
  }
}

}  // namespace

ElementLoop logical_loop(Combining combining, Basic basic) noexcept {
  switch (combining) {
    case Combining::land:
      return over_integers_of<LogicalAnd>(bytes_of_logical(basic));
    case Combining::lor:
      return over_integers_of<LogicalOr>(bytes_of_logical(basic));
    case Combining::lxor:
      return over_integers_of<LogicalXor>(bytes_of_logical(basic));
    case Combining::band:
      return over_integers_of<BitAnd>(bytes_of_integer(basic));
    case Combining::bor:
      return over_integers_of<BitOr>(bytes_of_integer(basic));
    case Combining::bxor:
      return over_integers_of<BitXor>(bytes_of_integer(basic));
    default:
      return {};
  }
}

}  // namespace coracle::mpi
