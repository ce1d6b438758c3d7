// Checks of what a program gives to a collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi::collectives {

/// Throws MpiError (root).
std::uint32_t checked_root(const Comm& comm, int root);
/// The product of a count and a number of processes. Throws MpiError (count).
Count total_of(Count count, std::uint32_t number, const char* what);
/// Throws MpiError (count); `place`: of an array.
Count checked_count(Count count, const char* what, std::uint32_t place);
/// Throws MpiError (buffer) for MPI_IN_PLACE as the argument `what`.
void refuse_in_place(const void* buffer, const char* what);
/// Of what a member sends to itself. Throws MpiError (truncate) where the sizes differ.
void check_own_bytes(std::size_t sent, std::size_t received);
/// The same, for a root, which alone sees that: the error, if there is one. It takes part all the same, so that the
/// calls of the others end and the communicator stays in step, and fails afterwards: see fail_after().
std::optional<MpiError> own_misfit(std::size_t sent, std::size_t received);
/// Throws MpiError (buffer) where a process would receive `bytes` where it sends from.
void refuse_aliases(const void* sent, const void* received, std::size_t bytes);

inline bool is_in_place(const void* buffer) noexcept {
  return buffer == kInPlace;
}

/// So many bytes behind `buffer`, which may be MPI_BOTTOM.
template <class Void>
Void* displaced(Void* buffer, Count bytes) noexcept {
  return reinterpret_cast<Void*>(reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(bytes));
}

}  // namespace coracle::mpi::collectives
