// Where a program has called Fortran's form of a collective, for C's, which it calls in turn: messages about members
// that call different collectives tell the place.
#pragma once

/// Of a thread. Null where the program calls C's form itself.
extern "C" [[gnu::tls_model("initial-exec")]] __thread const void* coracle_ompi_fortran_site;

namespace coracle::mpi::openmpi {

/// While an entry point of Fortran runs.
class FortranCallScope {
 public:
  explicit FortranCallScope(const void* returns_to) noexcept { coracle_ompi_fortran_site = returns_to; }
  ~FortranCallScope() { coracle_ompi_fortran_site = nullptr; }
  FortranCallScope(const FortranCallScope&) = delete;
  FortranCallScope& operator=(const FortranCallScope&) = delete;
};

}  // namespace coracle::mpi::openmpi
