// MPI_T, the tools' interface: the lists of variables and categories are empty, which the standard allows.
#include <cstdio>

#include "interfaces/mpi/openmpi/abi.hpp"
#include "interfaces/mpi/openmpi/raw.hpp"

namespace coracle::mpi::openmpi {
namespace {

// Open MPI's values of MPI_T_ERR_*.
constexpr int kNotInitialized = 55;
constexpr int kInvalidIndex = 57;
constexpr int kInvalidItem = 58;
constexpr int kInvalidHandle = 59;
constexpr int kInvalidSession = 62;
constexpr int kInvalidName = 73;
constexpr int kThreadFunneled = 1;

int& initializations() noexcept {
  static int count = 0;
  return count;
}

/// `code`, or that MPI_T_init_thread has not been called.
int if_initialized(int code) noexcept {
  return initializations() > 0 ? code : kNotInitialized;
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
  *provided = kThreadFunneled;
  return kSuccess;
}

extern "C" int PMPI_T_finalize() {
  if (initializations() == 0) return kNotInitialized;
  --initializations();
  return kSuccess;
}

extern "C" int PMPI_T_pvar_session_create(void** session) {
  if (initializations() > 0) *session = &session_object;
  return if_initialized(kSuccess);
}

extern "C" int PMPI_T_pvar_session_free(void** session) {
  if (initializations() == 0) return kNotInitialized;
  if (*session != &session_object) return kInvalidSession;
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
CORACLE_TOOL(cvar_get_info, kInvalidIndex, int, char*, int*, int*, MPI_Datatype*, void**, char*, int*, int*, int*)
CORACLE_TOOL(cvar_get_index, kInvalidName, const char*, int*)
CORACLE_TOOL(cvar_handle_alloc, kInvalidIndex, int, void*, void**, int*)
CORACLE_TOOL(cvar_handle_free, kInvalidHandle, void**)
CORACLE_TOOL(cvar_read, kInvalidHandle, void*, void*)
CORACLE_TOOL(cvar_write, kInvalidHandle, void*, const void*)
CORACLE_TOOL(pvar_get_info, kInvalidIndex, int, char*, int*, int*, int*, MPI_Datatype*, void**, char*, int*, int*, int*,
             int*, int*)
CORACLE_TOOL(pvar_get_index, kInvalidName, const char*, int, int*)
CORACLE_TOOL(pvar_handle_alloc, kInvalidIndex, void*, int, void*, void**, int*)
CORACLE_TOOL(pvar_handle_free, kInvalidHandle, void*, void**)
// MPI_T_PVAR_ALL_HANDLES, of which there are none, is fine.
CORACLE_TOOL(pvar_start, kSuccess, void*, void*)
CORACLE_TOOL(pvar_stop, kSuccess, void*, void*)
CORACLE_TOOL(pvar_reset, kSuccess, void*, void*)
CORACLE_TOOL(pvar_read, kInvalidHandle, void*, void*, void*)
CORACLE_TOOL(pvar_write, kInvalidHandle, void*, void*, const void*)
CORACLE_TOOL(pvar_readreset, kInvalidHandle, void*, void*, void*)
CORACLE_TOOL(category_get_info, kInvalidIndex, int, char*, int*, char*, int*, int*, int*, int*)
CORACLE_TOOL(category_get_index, kInvalidName, const char*, int*)
CORACLE_TOOL(category_get_cvars, kInvalidIndex, int, int, int*)
CORACLE_TOOL(category_get_pvars, kInvalidIndex, int, int, int*)
CORACLE_TOOL(category_get_categories, kInvalidIndex, int, int, int*)
CORACLE_TOOL(enum_get_info, kInvalidItem, void*, int*, char*, int*)
CORACLE_TOOL(enum_get_item, kInvalidItem, void*, int, int*, char*, int*)

#undef CORACLE_TOOL
#undef CORACLE_TOOL_ZERO

}  // namespace coracle::mpi::openmpi
