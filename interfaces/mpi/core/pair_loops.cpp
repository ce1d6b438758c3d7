// MPI_MINLOC and MPI_MAXLOC: pairs of a value and an index; of equal values the smaller index is kept.
#include "interfaces/mpi/core/element_loop_of.hpp"

namespace coracle::mpi {

namespace {

/// As C's struct; an assignment leaves the gaps alone.
template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
  constexpr Pair(const Pair&) = default;
  constexpr Pair& operator=(const Pair& other) {
    value = other.value;
    index = other.index;
    return *this;
  }
};

struct MinimumWithIndex {
  template <class T>
  constexpr T operator()(const T& left, const T& right) const {
    if (left.value < right.value) return left;
    if (right.value < left.value) return right;
    return right.index < left.index ? right : left;
  }
};
struct MaximumWithIndex {
  template <class T>
  constexpr T operator()(const T& left, const T& right) const {
    if (right.value < left.value) return left;
    if (left.value < right.value) return right;
    return right.index < left.index ? right : left;
  }
};

template <class Value, class Index, class Operation>
ElementLoop over_pairs_of() noexcept {
  return {detail::combine_values<Pair<Value, Index>, Operation>, sizeof(Pair<Value, Index>),
          sizeof(Value) + sizeof(Index)};
}

template <class Operation>
ElementLoop over_pairs(Basic basic) noexcept {
  switch (basic) {
    case Basic::float32_int32:
      return over_pairs_of<float, std::int32_t, Operation>();
    case Basic::float64_int32:
      return over_pairs_of<double, std::int32_t, Operation>();
    case Basic::float80_int32:
      return over_pairs_of<long double, std::int32_t, Operation>();
    case Basic::int64_int32:
      return over_pairs_of<std::int64_t, std::int32_t, Operation>();
    case Basic::int32_int32:
      return over_pairs_of<std::int32_t, std::int32_t, Operation>();
    case Basic::int16_int32:
      return over_pairs_of<std::int16_t, std::int32_t, Operation>();
    case Basic::float32_float32:
      return over_pairs_of<float, float, Operation>();
    case Basic::float64_float64:
      return over_pairs_of<double, double, Operation>();
    default:
      return {};
  }
}

}  // namespace

ElementLoop pair_loop(Combining combining, Basic basic) noexcept {
  switch (combining) {
    case Combining::minloc:
      return over_pairs<MinimumWithIndex>(basic);
    case Combining::maxloc:
      return over_pairs<MaximumWithIndex>(basic);
    default:
      return {};
  }
}

}  // namespace coracle::mpi
