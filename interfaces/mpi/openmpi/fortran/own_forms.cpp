// Entry points of Fortran that C has in another form, or not at all.
#include "interfaces/mpi/entry_points.hpp"
#include "interfaces/mpi/openmpi/fortran/arguments.hpp"
#include "interfaces/mpi/openmpi/raw.hpp"

namespace coracle::mpi::openmpi {
extern "C" {

/// One of ompi_`lower`_f's names.
#define CORACLE_ALIAS(lower, name) [[gnu::weak, gnu::alias("ompi_" #lower "_f")]] decltype(ompi_##lower##_f) name;
/// All of them: `Mixed` is the name in C, `UPPER` and `lower` Fortran's.
#define CORACLE_NAMES(lower, UPPER, Mixed) \
  CORACLE_ALIAS(lower, mpi_##lower)        \
  CORACLE_ALIAS(lower, mpi_##lower##_)     \
  CORACLE_ALIAS(lower, mpi_##lower##__)    \
  CORACLE_ALIAS(lower, MPI_##UPPER)        \
  CORACLE_ALIAS(lower, MPI_##Mixed##_f)    \
  CORACLE_ALIAS(lower, MPI_##Mixed##_f08)  \
  CORACLE_ALIAS(lower, pmpi_##lower)       \
  CORACLE_ALIAS(lower, pmpi_##lower##_)    \
  CORACLE_ALIAS(lower, pmpi_##lower##__)   \
  CORACLE_ALIAS(lower, PMPI_##UPPER)       \
  CORACLE_ALIAS(lower, PMPI_##Mixed##_f)   \
  CORACLE_ALIAS(lower, PMPI_##Mixed##_f08)

void ompi_init_f(MPI_Fint* ierror) {
  store_error(PMPI_Init(nullptr, nullptr), ierror);
}
CORACLE_NAMES(init, INIT, Init)

void ompi_init_thread_f(const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) {
  store_error(PMPI_Init_thread(nullptr, nullptr, *required, provided), ierror);
}
CORACLE_NAMES(init_thread, INIT_THREAD, Init_thread)

double ompi_wtime_f() {
  return PMPI_Wtime();
}
CORACLE_NAMES(wtime, WTIME, Wtime)

double ompi_wtick_f() {
  return PMPI_Wtick();
}
CORACLE_NAMES(wtick, WTICK, Wtick)

void ompi_pcontrol_f(const MPI_Fint* level) {
  PMPI_Pcontrol(*level);
}
CORACLE_NAMES(pcontrol, PCONTROL, Pcontrol)

MPI_Aint ompi_aint_add_f(const MPI_Aint* base, const MPI_Aint* distance) {
  return *base + *distance;
}
CORACLE_NAMES(aint_add, AINT_ADD, Aint_add)

MPI_Aint ompi_aint_diff_f(const MPI_Aint* one, const MPI_Aint* other) {
  return *one - *other;
}
CORACLE_NAMES(aint_diff, AINT_DIFF, Aint_diff)

/// That there is a call makes the compiler put the buffer into memory.
void ompi_f_sync_reg_f(void*) {}
CORACLE_NAMES(f_sync_reg, F_SYNC_REG, F_sync_reg)

// What is called for a TYPE(C_PTR) as the base: it is an address all the same.
void ompi_alloc_mem_cptr_f(const MPI_Aint* size, const MPI_Fint* info, void* baseptr, MPI_Fint* ierror) {
  store_error(PMPI_Alloc_mem(*size, PMPI_Info_f2c(*info), baseptr), ierror);
}
CORACLE_NAMES(alloc_mem_cptr, ALLOC_MEM_CPTR, Alloc_mem_cptr)

void ompi_win_allocate_cptr_f(const MPI_Aint*, const MPI_Fint*, const MPI_Fint*, const MPI_Fint*, void*, MPI_Fint*,
                              MPI_Fint* ierror) {
  store_error(PMPI_Win_allocate({}, {}, {}, {}, {}, {}), ierror);
}
CORACLE_NAMES(win_allocate_cptr, WIN_ALLOCATE_CPTR, Win_allocate_cptr)

void ompi_win_allocate_shared_cptr_f(const MPI_Aint*, const MPI_Fint*, const MPI_Fint*, const MPI_Fint*, void*,
                                     MPI_Fint*, MPI_Fint* ierror) {
  store_error(PMPI_Win_allocate_shared({}, {}, {}, {}, {}, {}), ierror);
}
CORACLE_NAMES(win_allocate_shared_cptr, WIN_ALLOCATE_SHARED_CPTR, Win_allocate_shared_cptr)

void ompi_win_shared_query_cptr_f(const MPI_Fint*, const MPI_Fint*, MPI_Aint*, MPI_Fint*, void*, MPI_Fint* ierror) {
  store_error(PMPI_Win_shared_query({}, {}, {}, {}, {}), ierror);
}
CORACLE_NAMES(win_shared_query_cptr, WIN_SHARED_QUERY_CPTR, Win_shared_query_cptr)

}  // extern "C"
}  // namespace coracle::mpi::openmpi
