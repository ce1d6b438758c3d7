#include "interfaces/mpi/core/element_loops.hpp"

namespace coracle::mpi {

ElementLoop element_loop(Combining combining, Basic basic) noexcept {
  switch (combining) {
    case Combining::max:
    case Combining::min:
    case Combining::sum:
    case Combining::prod:
      return arithmetic_loop(combining, basic);
    case Combining::land:
    case Combining::lor:
    case Combining::lxor:
    case Combining::band:
    case Combining::bor:
    case Combining::bxor:
      return logical_loop(combining, basic);
    case Combining::minloc:
    case Combining::maxloc:
      return pair_loop(combining, basic);
    default:
      return {};
  }
}

const char* domain_of(Combining combining) noexcept {
  switch (combining) {
    case Combining::max:
    case Combining::min:
      return "integers and floating-point numbers";
    case Combining::sum:
    case Combining::prod:
      return "integers, floating-point and complex numbers";
    case Combining::land:
    case Combining::lor:
    case Combining::lxor:
      return "integers and logical values";
    case Combining::band:
    case Combining::bor:
    case Combining::bxor:
      return "integers and bytes";
    case Combining::minloc:
    case Combining::maxloc:
      return "pairs of a value and an index, such as MPI_DOUBLE_INT";
    case Combining::replace:
    case Combining::no_op:
      return "nothing but what one-sided operations accumulate";
    default:
      return "what its function can";
  }
}

}  // namespace coracle::mpi
