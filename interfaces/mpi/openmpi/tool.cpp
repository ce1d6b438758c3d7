// MPI_T, the tools' interface: the lists of variables and categories are empty, which the standard allows.
#include <atomic>

#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/openmpi/abi.hpp"
#include "interfaces/mpi/openmpi/raw.hpp"
#include "interfaces/mpi/values.hpp"

namespace coracle::mpi::openmpi {
namespace {

std::atomic<int>& initializations() noexcept {
  static std::atomic<int> count{0};  // tools may call from any thread
  return count;
}

/// `code`, or that MPI_T_init_thread has not been called.
int if_initialized(int code) noexcept {
  return initializations() > 0 ? code : kToolErrNotInitialized;
}

int give_zero(int* place) noexcept {
  if (initializations() > 0 && place != nullptr) *place = 0;
  return if_initialized(kSuccess);
}

char session_object;

}  // namespace

/// MPI_T_`name` with the given parameters, which only gives `code`.
#define CORACLE_TOOL(name, code, ...)         \
  extern "C" int PMPI_T_##name(__VA_ARGS__) { \
    return if_initialized(code);              \
  }                                           \
  CORACLE_WEAK_TWIN(int, T_##name, __VA_ARGS__);
#define CORACLE_TOOL_ZERO(name)              \
  extern "C" int PMPI_T_##name(int* place) { \
    return give_zero(place);                 \
  }                                          \
  CORACLE_WEAK_TWIN(int, T_##name, int*);

extern "C" int PMPI_T_init_thread(int, int* provided) {
  ++initializations();
  *provided = threadlevel_to(static_cast<int>(ThreadLevel::multiple));
  return kSuccess;
}

extern "C" int PMPI_T_finalize() {
  if (initializations() == 0) return kToolErrNotInitialized;
  --initializations();
  return kSuccess;
}

extern "C" int PMPI_T_pvar_session_create(void** session) {
  if (initializations() > 0) *session = &session_object;
  return if_initialized(kSuccess);
}

extern "C" int PMPI_T_pvar_session_free(void** session) {
  if (initializations() == 0) return kToolErrNotInitialized;
  if (*session != &session_object) return kToolErrInvalidSession;
  *session = nullptr;
  return kSuccess;
}

CORACLE_WEAK_TWIN(int, T_init_thread, int, int*);
CORACLE_WEAK_TWIN(int, T_finalize);
CORACLE_WEAK_TWIN(int, T_pvar_session_create, void**);
CORACLE_WEAK_TWIN(int, T_pvar_session_free, void**);
CORACLE_TOOL_ZERO(cvar_get_num)
CORACLE_TOOL_ZERO(pvar_get_num)
CORACLE_TOOL_ZERO(category_get_num)
CORACLE_TOOL_ZERO(category_changed)
CORACLE_TOOL(cvar_get_info, kToolErrInvalidIndex, int, char*, int*, int*, MPI_Datatype*, void**, char*, int*, int*,
             int*)
CORACLE_TOOL(cvar_get_index, kToolErrInvalidName, const char*, int*)
CORACLE_TOOL(cvar_handle_alloc, kToolErrInvalidIndex, int, void*, void**, int*)
CORACLE_TOOL(cvar_handle_free, kToolErrInvalidHandle, void**)
CORACLE_TOOL(cvar_read, kToolErrInvalidHandle, void*, void*)
CORACLE_TOOL(cvar_write, kToolErrInvalidHandle, void*, const void*)
CORACLE_TOOL(pvar_get_info, kToolErrInvalidIndex, int, char*, int*, int*, int*, MPI_Datatype*, void**, char*, int*,
             int*, int*, int*, int*)
CORACLE_TOOL(pvar_get_index, kToolErrInvalidName, const char*, int, int*)
CORACLE_TOOL(pvar_handle_alloc, kToolErrInvalidIndex, void*, int, void*, void**, int*)
CORACLE_TOOL(pvar_handle_free, kToolErrInvalidHandle, void*, void**)
// MPI_T_PVAR_ALL_HANDLES, of which there are none, is fine.
CORACLE_TOOL(pvar_start, kSuccess, void*, void*)
CORACLE_TOOL(pvar_stop, kSuccess, void*, void*)
CORACLE_TOOL(pvar_reset, kSuccess, void*, void*)
CORACLE_TOOL(pvar_read, kToolErrInvalidHandle, void*, void*, void*)
CORACLE_TOOL(pvar_write, kToolErrInvalidHandle, void*, void*, const void*)
CORACLE_TOOL(pvar_readreset, kToolErrInvalidHandle, void*, void*, void*)
CORACLE_TOOL(category_get_info, kToolErrInvalidIndex, int, char*, int*, char*, int*, int*, int*, int*)
CORACLE_TOOL(category_get_index, kToolErrInvalidName, const char*, int*)
CORACLE_TOOL(category_get_cvars, kToolErrInvalidIndex, int, int, int*)
CORACLE_TOOL(category_get_pvars, kToolErrInvalidIndex, int, int, int*)
CORACLE_TOOL(category_get_categories, kToolErrInvalidIndex, int, int, int*)
CORACLE_TOOL(enum_get_info, kToolErrInvalidItem, void*, int*, char*, int*)
CORACLE_TOOL(enum_get_item, kToolErrInvalidItem, void*, int, int*, char*, int*)

#undef CORACLE_TOOL
#undef CORACLE_TOOL_ZERO

}  // namespace coracle::mpi::openmpi
