// Where a program has called Fortran's form of a function, for C's, which it calls in turn: messages about members that
// call different collectives tell the place, and so do tools.
#pragma once

extern "C" {
/// Of a thread. Null where the program calls C's form itself.
[[gnu::tls_model("initial-exec")]] extern __thread const void* coracle_ompi_fortran_site;
/// Whether tools are told of calls.
bool coracle_ompi_is_told() noexcept;
}

namespace coracle::mpi::openmpi {

/// While an entry point of Fortran runs.
class FortranCallScope {
 public:
  explicit FortranCallScope(const void* returns_to) noexcept { coracle_ompi_fortran_site = returns_to; }
  ~FortranCallScope() { coracle_ompi_fortran_site = nullptr; }
  FortranCallScope(const FortranCallScope&) = delete;
  FortranCallScope& operator=(const FortranCallScope&) = delete;
};

/// The same of functions whose place is for tools only. `site`: gives it.
class ToldFortranCall {
 public:
  template <class Site>
  explicit ToldFortranCall(Site site) noexcept : is_told_(coracle_ompi_is_told()) {
    if (is_told_) [[unlikely]]
      coracle_ompi_fortran_site = site();
  }
  ~ToldFortranCall() {
    if (is_told_) [[unlikely]]
      coracle_ompi_fortran_site = nullptr;
  }
  ToldFortranCall(const ToldFortranCall&) = delete;
  ToldFortranCall& operator=(const ToldFortranCall&) = delete;

 private:
  const bool is_told_;
};

}  // namespace coracle::mpi::openmpi
