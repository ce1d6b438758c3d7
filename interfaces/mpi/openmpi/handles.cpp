// Handles and statuses in C and in Fortran: MPI_*_c2f and MPI_*_f2c.
#include <cstring>

#include "interfaces/mpi/openmpi/entry.hpp"
#include "interfaces/mpi/openmpi/raw.hpp"

namespace coracle::mpi::openmpi {
namespace {

template <class T>
MPI_Fint number_of(HandleKind kind, Handle<T>* handle) noexcept {
  const EarlyCall call;
  return handle != nullptr ? fortran_number(kind, handle->word) : -1;
}

/// The null handle for a number that stands for nothing.
template <class T>
Handle<T>* handle_with(HandleKind kind, MPI_Fint number, HandleWord& null_one) noexcept {
  const EarlyCall call;
  HandleWord* const found = fortran_handle(kind, number);
  return reinterpret_cast<Handle<T>*>(found != nullptr ? found : &null_one);
}

}  // namespace

#define CORACLE_CONVERSIONS(name, type, kind, null_object)                                           \
  extern "C" MPI_Fint PMPI_##name##_c2f(type handle) {                                               \
    return number_of(HandleKind::kind, handle);                                                      \
  }                                                                                                  \
  extern "C" type PMPI_##name##_f2c(MPI_Fint number) {                                               \
    return handle_with<std::remove_pointer_t<type>::Of>(HandleKind::kind, number, null_object.word); \
  }                                                                                                  \
  CORACLE_WEAK_TWIN(MPI_Fint, name##_c2f, type);                                                     \
  CORACLE_WEAK_TWIN(type, name##_f2c, MPI_Fint);

CORACLE_CONVERSIONS(Comm, MPI_Comm, comm, ompi_mpi_comm_null)
CORACLE_CONVERSIONS(Group, MPI_Group, group, ompi_mpi_group_null)
CORACLE_CONVERSIONS(Type, MPI_Datatype, datatype, ompi_mpi_datatype_null)
CORACLE_CONVERSIONS(Op, MPI_Op, op, ompi_mpi_op_null)
CORACLE_CONVERSIONS(Info, MPI_Info, info, ompi_mpi_info_null)
CORACLE_CONVERSIONS(Errhandler, MPI_Errhandler, errhandler, ompi_mpi_errhandler_null)
CORACLE_CONVERSIONS(Request, MPI_Request, request, ompi_request_null)
CORACLE_CONVERSIONS(Message, MPI_Message, message, ompi_message_null)
CORACLE_CONVERSIONS(Win, MPI_Win, win, ompi_mpi_win_null)
CORACLE_CONVERSIONS(File, MPI_File, file, ompi_mpi_file_null)
#undef CORACLE_CONVERSIONS

// A status lies in memory as Fortran's INTEGERs do.
extern "C" int PMPI_Status_c2f(const MPI_Status* status, MPI_Fint* fortran) {
  std::memcpy(fortran, status, sizeof *status);
  return kSuccess;
}

extern "C" int PMPI_Status_f2c(const MPI_Fint* fortran, MPI_Status* status) {
  std::memcpy(status, fortran, sizeof *status);
  return kSuccess;
}

CORACLE_WEAK_TWIN(int, Status_c2f, const MPI_Status*, MPI_Fint*);
CORACLE_WEAK_TWIN(int, Status_f2c, const MPI_Fint*, MPI_Status*);

}  // namespace coracle::mpi::openmpi
