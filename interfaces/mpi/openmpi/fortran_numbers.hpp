// The numbers by which Fortran knows handles. Predefined ones have Open MPI's; others get one when it is asked for,
// which is theirs as long as the object lives. Then it is given again.
#pragma once

#include "interfaces/mpi/openmpi/abi.hpp"

namespace coracle::mpi::openmpi {

void set_fortran_number(HandleKind kind, HandleWord& word, int number);
/// The handle's number; a new one if it has none.
int fortran_number(HandleKind kind, HandleWord& word);
/// Null for a number that stands for nothing.
HandleWord* fortran_handle(HandleKind kind, int number) noexcept;

}  // namespace coracle::mpi::openmpi
