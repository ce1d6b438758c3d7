// The numbers by which Fortran knows handles. Predefined ones have Open MPI's; others get one when it is asked for,
// which they keep until they are freed.
#pragma once

#include "interfaces/mpi/openmpi/abi.hpp"

namespace coracle::mpi::openmpi {

void set_fortran_number(HandleKind kind, HandleWord& word, int number);
/// The handle's number; a new one if it has none.
int fortran_number(HandleKind kind, HandleWord& word);
/// Null for a number that stands for nothing.
HandleWord* fortran_handle(HandleKind kind, int number) noexcept;
/// When the handle is gone; of -1 nothing. Numbers are given again.
void forget_fortran_number(HandleKind kind, int number) noexcept;

}  // namespace coracle::mpi::openmpi
