// The loop of one type and one operation; private to the sources that make the table of them.
#pragma once

#include "interfaces/mpi/core/element_loops.hpp"

namespace coracle::mpi::detail {

template <class T, class Operation>
void combine_values(const void*, const std::byte* left, const std::byte* right, std::byte* result, std::size_t count) {
  static constexpr Operation operation;
  internals::detail::combine_elements<T, Operation>(&operation, left, right, result, count);
}

template <class T, class Operation>
ElementLoop loop_of() noexcept {
  return {combine_values<T, Operation>, sizeof(T), sizeof(T)};
}

}  // namespace coracle::mpi::detail
