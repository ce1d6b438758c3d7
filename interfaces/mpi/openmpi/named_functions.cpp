// The functions that the standard names for attributes, in C (OMPI_C_MPI_*) and in Fortran; and what else Open MPI's
// library exports for Fortran's interfaces and its extensions.
#include <cstdarg>
#include <cstdio>

#include "interfaces/mpi/openmpi/abi.hpp"
#include "interfaces/mpi/openmpi/raw.hpp"

namespace coracle::mpi::openmpi {
namespace {

int duplicate(void* value_in, void* value_out, int* flag) noexcept {
  *flag = 1;
  *static_cast<void**>(value_out) = value_in;
  return kSuccess;
}

int copy_nothing(int* flag) noexcept {
  *flag = 0;
  return kSuccess;
}

}  // namespace

#define CORACLE_C_FUNCTIONS(prefix, handle)                                                        \
  extern "C" int OMPI_C_MPI_##prefix##DUP_FN(handle, int, void*, void* in, void* out, int* flag) { \
    return duplicate(in, out, flag);                                                               \
  }                                                                                                \
  extern "C" int OMPI_C_MPI_##prefix##NULL_COPY_FN(handle, int, void*, void*, void*, int* flag) {  \
    return copy_nothing(flag);                                                                     \
  }                                                                                                \
  extern "C" int OMPI_C_MPI_##prefix##NULL_DELETE_FN(handle, int, void*, void*) {                  \
    return kSuccess;                                                                               \
  }

CORACLE_C_FUNCTIONS(, MPI_Comm)
CORACLE_C_FUNCTIONS(COMM_, MPI_Comm)
CORACLE_C_FUNCTIONS(TYPE_, MPI_Datatype)
CORACLE_C_FUNCTIONS(WIN_, MPI_Win)
#undef CORACLE_C_FUNCTIONS

/// Fortran's name in the four ways in which compilers write it.
#define CORACLE_FORTRAN_NAMES(result, lower, UPPER, ...)                          \
  extern "C" [[gnu::weak, gnu::alias(#lower "_")]] result lower(__VA_ARGS__);     \
  extern "C" [[gnu::weak, gnu::alias(#lower "_")]] result lower##__(__VA_ARGS__); \
  extern "C" [[gnu::weak, gnu::alias(#lower "_")]] result UPPER(__VA_ARGS__);

/// `Integer`: of the attributes' values.
#define CORACLE_FORTRAN_FUNCTIONS(lower, UPPER, Integer)                                                            \
  extern "C" void mpi_##lower##dup_fn_(MPI_Fint*, MPI_Fint*, Integer*, Integer* in, Integer* out, MPI_Fint* flag,   \
                                       MPI_Fint* error) {                                                           \
    *out = *in;                                                                                                     \
    *flag = 1;                                                                                                      \
    *error = kSuccess;                                                                                              \
  }                                                                                                                 \
  extern "C" void mpi_##lower##null_copy_fn_(MPI_Fint*, MPI_Fint*, Integer*, Integer*, Integer*, MPI_Fint* flag,    \
                                             MPI_Fint* error) {                                                     \
    *flag = 0;                                                                                                      \
    *error = kSuccess;                                                                                              \
  }                                                                                                                 \
  extern "C" void mpi_##lower##null_delete_fn_(MPI_Fint*, MPI_Fint*, Integer*, Integer*, MPI_Fint* error) {         \
    *error = kSuccess;                                                                                              \
  }                                                                                                                 \
  CORACLE_FORTRAN_NAMES(void, mpi_##lower##dup_fn, MPI_##UPPER##DUP_FN, MPI_Fint*, MPI_Fint*, Integer*, Integer*,   \
                        Integer*, MPI_Fint*, MPI_Fint*)                                                             \
  CORACLE_FORTRAN_NAMES(void, mpi_##lower##null_copy_fn, MPI_##UPPER##NULL_COPY_FN, MPI_Fint*, MPI_Fint*, Integer*, \
                        Integer*, Integer*, MPI_Fint*, MPI_Fint*)                                                   \
  CORACLE_FORTRAN_NAMES(void, mpi_##lower##null_delete_fn, MPI_##UPPER##NULL_DELETE_FN, MPI_Fint*, MPI_Fint*,       \
                        Integer*, Integer*, MPI_Fint*)

CORACLE_FORTRAN_FUNCTIONS(, , MPI_Fint)
CORACLE_FORTRAN_FUNCTIONS(comm_, COMM_, MPI_Aint)
CORACLE_FORTRAN_FUNCTIONS(type_, TYPE_, MPI_Aint)
CORACLE_FORTRAN_FUNCTIONS(win_, WIN_, MPI_Aint)
#undef CORACLE_FORTRAN_FUNCTIONS

extern "C" void mpi_conversion_fn_null_(void*, MPI_Fint*, MPI_Fint*, void*, MPI_Aint*, MPI_Aint*, MPI_Fint* error) {
  *error = kSuccess;
}
CORACLE_FORTRAN_NAMES(void, mpi_conversion_fn_null, MPI_CONVERSION_FN_NULL, void*, MPI_Fint*, MPI_Fint*, void*,
                      MPI_Aint*, MPI_Aint*, MPI_Fint*)

extern "C" [[gnu::weak, gnu::alias("mpi_conversion_fn_null_")]] void mpi_conversion_fn_null_f(void*, MPI_Fint*,
                                                                                              MPI_Fint*, void*,
                                                                                              MPI_Aint*, MPI_Aint*,
                                                                                              MPI_Fint*);

extern "C" MPI_Aint mpi_aint_add_f90_(MPI_Aint* base, MPI_Aint* distance) {
  return *base + *distance;
}
extern "C" MPI_Aint mpi_aint_diff_f90_(MPI_Aint* one, MPI_Aint* other) {
  return *one - *other;
}
extern "C" double mpi_wtime_f90_() {
  return PMPI_Wtime();
}
extern "C" double mpi_wtick_f90_() {
  return PMPI_Wtick();
}
CORACLE_FORTRAN_NAMES(MPI_Aint, mpi_aint_add_f90, MPI_AINT_ADD_F90, MPI_Aint*, MPI_Aint*)
CORACLE_FORTRAN_NAMES(MPI_Aint, mpi_aint_diff_f90, MPI_AINT_DIFF_F90, MPI_Aint*, MPI_Aint*)
CORACLE_FORTRAN_NAMES(double, mpi_wtime_f90, MPI_WTIME_F90)
CORACLE_FORTRAN_NAMES(double, mpi_wtick_f90, MPI_WTICK_F90)

// In C the addresses of Fortran's MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE: a program's copies of these COMMON blocks
// are the ones that count, so they are named, not known.
extern "C" {
extern char mpi_fortran_status_ignore_[];
extern char mpi_fortran_statuses_ignore_[];
void* MPI_F_STATUS_IGNORE = mpi_fortran_status_ignore_;
void* MPI_F_STATUSES_IGNORE = mpi_fortran_statuses_ignore_;

/// Coracle moves memory of GPUs by messages of its own; MPI's do not take it.
int PMPIX_Query_cuda_support() {
  return 0;
}
[[gnu::weak, gnu::alias("PMPIX_Query_cuda_support")]] int MPIX_Query_cuda_support();

/// Open MPI's extension that tells how a process is bound: here by whoever started it.
int OMPI_Affinity_str(int, char* bound, char* current, char* exists) {
  for (char* text : {bound, current, exists}) std::snprintf(text, 1024, "Coracle does not tell");
  return kSuccess;
}
}

}  // namespace coracle::mpi::openmpi
