// Between Open MPI's handles, constants and statuses and the core's: scalars.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/error_handler.hpp"
#include "interfaces/mpi/core/group.hpp"
#include "interfaces/mpi/core/info.hpp"
#include "interfaces/mpi/core/message.hpp"
#include "interfaces/mpi/core/operation.hpp"
#include "interfaces/mpi/core/request.hpp"
#include "interfaces/mpi/core/status.hpp"
#include "interfaces/mpi/object_declarations.hpp"
#include "interfaces/mpi/openmpi/objects.hpp"

namespace coracle::mpi::openmpi {

// Handles.

/// What is told of a kind of handle.
struct HandleNoun {
  ErrorClass error;
  const char* noun;
};

template <class T>
HandleWord& null_word() noexcept;
template <class T>
inline constexpr HandleNoun kNoun = {};
template <class T>
inline constexpr HandleKind kKindOf = HandleKind::comm;

#define CORACLE_HANDLE(type, kind, null_object, error_class, what)           \
  template <>                                                                \
  inline HandleWord& null_word<type>() noexcept {                            \
    return null_object.word;                                                 \
  }                                                                          \
  template <>                                                                \
  inline constexpr HandleNoun kNoun<type> = {ErrorClass::error_class, what}; \
  template <>                                                                \
  inline constexpr HandleKind kKindOf<type> = HandleKind::kind;

CORACLE_HANDLE(Comm, comm, ompi_mpi_comm_null, comm, "communicator")
CORACLE_HANDLE(Group, group, ompi_mpi_group_null, group, "group")
CORACLE_HANDLE(Datatype, datatype, ompi_mpi_datatype_null, type, "datatype")
CORACLE_HANDLE(Op, op, ompi_mpi_op_null, op, "operation")
CORACLE_HANDLE(Info, info, ompi_mpi_info_null, info, "info")
CORACLE_HANDLE(ErrorHandler, errhandler, ompi_mpi_errhandler_null, errhandler, "error handler")
CORACLE_HANDLE(Request, request, ompi_request_null, request, "request")
CORACLE_HANDLE(Message, message, ompi_message_null, request, "message")
#undef CORACLE_HANDLE

template <class T>
Handle<T>* null_handle() noexcept {
  return reinterpret_cast<Handle<T>*>(&null_word<T>());
}

/// Throws MpiError for a handle that refers to no object: it is no handle, or has been freed.
[[noreturn]] void refuse_handle(const void* handle, const HandleNoun& noun, const char* name);

[[noreturn]] void refuse_other_kind(const HandleNoun& noun, const char* name);
/// Whether a handle of another kind, which takes a cast in the program, is recognised: where a look at the object costs
/// nothing beside the call.
template <class T>
inline constexpr bool kKindIsChecked =
    std::is_same_v<T, Group> || std::is_same_v<T, Op> || std::is_same_v<T, Info> || std::is_same_v<T, ErrorHandler>;

/// Null for the null handle; `name`: the argument's.
template <class T>
T* object_of(Handle<T>* handle, const char* name) {
  if (handle != nullptr && handle->word.object != nullptr) [[likely]] {
    Object& object = *handle->word.object;
    if constexpr (kKindIsChecked<T>)
      if (typeid(object) != typeid(T)) [[unlikely]]
        refuse_other_kind(kNoun<T>, name);
    return static_cast<T*>(&object);
  }
  if (handle == null_handle<T>()) return nullptr;
  refuse_handle(handle, kNoun<T>, name);
}

template <class T>
Handle<T>* handle_of(T* object) noexcept {
  return object != nullptr ? reinterpret_cast<Handle<T>*>(object->handle()) : null_handle<T>();
}

/// Throws MpiError (arg) for a null pointer where a result is to be stored.
[[noreturn]] void refuse_place(const char* name);
inline void check_place(const void* place, const char* name) {
  if (place == nullptr) [[unlikely]]
    refuse_place(name);
}

[[noreturn]] void refuse_array(const char* name, int count);
/// Throws MpiError (arg) for a null pointer in place of an array that has elements.
inline void check_array(const void* array, int count, const char* name) {
  if (array == nullptr && count > 0) [[unlikely]]
    refuse_array(name, count);
}

// Numbers.

struct Pair {
  int abi;
  int core;
};

/// Throws MpiError (arg), which tells the names that there are.
int value_from(std::span<const Pair> values, int value, const char* name, const char* names);
/// MPI_UNDEFINED for what the ABI has not.
int value_to(std::span<const Pair> values, int value) noexcept;

/// MPI_PROC_NULL is -2 here, and -3 in the core; the other constants and ranks are the same. Their own inverse.
constexpr int rank_from(int rank) noexcept {
  if (rank >= -1) [[likely]]
    return rank;
  return rank == -2 ? kProcNull : rank == kProcNull ? -2 : rank;
}
constexpr int rank_to(int rank) noexcept {
  return rank_from(rank);
}
/// MPI_ANY_TAG is -1 here, and -2 in the core.
constexpr int tag_from(int tag) noexcept {
  return tag >= 0 ? tag : tag == -1 ? kAnyTag : tag == kAnyTag ? -1 : tag;
}
constexpr int tag_to(int tag) noexcept {
  return tag_from(tag);
}

int keyval_from(int keyval) noexcept;
int keyval_to(int keyval) noexcept;
/// Of error classes, and codes that the program has made.
int code_from(int code) noexcept;
int code_to(int code) noexcept;
int distribution_value_from(int distribution);

/// Null for MPI_UNWEIGHTED; for MPI_WEIGHTS_EMPTY and a null pointer &kNoWeights.
const int* weights_from(const int* weights) noexcept;
/// Where weights are to be stored; null for MPI_UNWEIGHTED.
int* weights_to(int* weights) noexcept;

inline int fitting_to(Count count) noexcept {
  return count == static_cast<int>(count) ? static_cast<int>(count) : kUndefined;
}
[[noreturn]] void refuse_wide(Count count, const char* name);
/// Throws MpiError (value_too_large) for what no int holds.
inline int int_of(Count count, const char* name) {
  if (count != static_cast<int>(count)) [[unlikely]]
    refuse_wide(count, name);
  return static_cast<int>(count);
}
inline Count count_from(int count) noexcept {
  return count;
}

// Statuses.

inline void store_status(const Status& status, MPI_Status* to) noexcept {
  to->MPI_SOURCE = rank_to(status.source);
  to->MPI_TAG = tag_to(status.tag);
  to->cancelled = status.cancelled ? 1 : 0;
  to->bytes = static_cast<std::size_t>(status.bytes);
}
/// Throws MpiError (arg) for MPI_STATUS_IGNORE.
Status status_from(const MPI_Status* status, const char* name);

// Texts.

/// Copies with the ending 0, `room` bytes in all; what does not fit is left out. `length` may be null.
void store_text(const std::string& text, char* to, int room, int* length) noexcept;

// Lengths of arrays that depend on a communicator; 0 for none. Its size: of an inter-communicator the other side's.

inline int size_of(const Comm* comm) noexcept {
  return comm != nullptr ? comm->peers() : 0;
}
int sources_of(const Comm* comm);
int destinations_of(const Comm* comm);
inline bool is_root(const Comm* comm, int root) noexcept {
  return comm != nullptr && (comm->is_inter() ? root == kRoot : comm->rank() == root);
}

}  // namespace coracle::mpi::openmpi
