// Where a program has called a function of Fortran's through another library, such as Debian's for the module mpi_f08.
#pragma once

namespace coracle::mpi::openmpi {

/// What the program's call returns to. `returns_to`: what the entry point does; `frame`: the end of its frame
/// (__builtin_dwarf_cfa()). `returns_to` itself where the program is not found behind one library.
const void* program_site(const void* returns_to, const void* frame) noexcept;

}  // namespace coracle::mpi::openmpi
