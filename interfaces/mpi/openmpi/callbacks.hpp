// The program's functions, as C calls them; those of Fortran and C++ say so by other calls.
#pragma once

#include "interfaces/mpi/core/attributes.hpp"
#include "interfaces/mpi/core/error_handler.hpp"
#include "interfaces/mpi/core/operation.hpp"
#include "interfaces/mpi/openmpi/abi.hpp"

namespace coracle::mpi::openmpi {

/// The last parameter only libmpi_cxx's function has, which calls a function of C++ that has it.
using CUserFunction = void (*)(void* in, void* inout, int* count, MPI_Datatype* datatype, Function of_cxx);
struct UserFunction {
  CUserFunction function;
  Function of_cxx;
};
/// Of MPI_Op_create's last call.
UserFunction*& last_user_function() noexcept;

using QueryFunction = int (*)(void* extra, MPI_Status* status);
using FreeFunction = int (*)(void* extra);
using CancelFunction = int (*)(void* extra, int complete);
using CommErrorFunction = void (*)(MPI_Comm* comm, int* code, ...);
using CommCopyFunction = int (*)(MPI_Comm comm, int keyval, void* extra, void* value_in, void* value_out, int* flag);
using CommDeleteFunction = int (*)(MPI_Comm comm, int keyval, void* value, void* extra);
using TypeCopyFunction = int (*)(MPI_Datatype type, int keyval, void* extra, void* value_in, void* value_out,
                                 int* flag);
using TypeDeleteFunction = int (*)(MPI_Datatype type, int keyval, void* value, void* extra);

template <class To>
To function_as(void* function) noexcept {
  return reinterpret_cast<To>(reinterpret_cast<std::uintptr_t>(function));
}
inline void* address_of(Function function) noexcept {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(function));
}

}  // namespace coracle::mpi::openmpi
