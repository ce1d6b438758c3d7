// The exported objects of predefined handles: which there are, and that they refer to the core's objects.
#pragma once

#include <cstdint>
#include <span>

#include "interfaces/mpi/openmpi/abi.hpp"

namespace coracle::mpi::openmpi {

struct Predefined {
  HandleKind kind;
  HandleWord* word;
  int number;  ///< In Fortran.
  const char* name;
};

std::span<const Predefined> predefined_handles() noexcept;

/// At MPI_Init: each exported object, or the executable's copy of it, refers to the core's.
void attach_predefined();

}  // namespace coracle::mpi::openmpi
