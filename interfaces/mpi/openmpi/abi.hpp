// Open MPI 4.1's binary interface in C: what its programs hand over. Handles are pointers to what begins with a
// HandleWord; those of the predefined objects are the addresses of exported data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interfaces/mpi/core/object.hpp"

namespace coracle::mpi {

class Comm;
class Datatype;
class ErrorHandler;
class Group;
class Info;
class Message;
class Op;
class Request;
// Coracle has none of these yet; their null handles are there.
class File;
class Window;

namespace openmpi {

enum class HandleKind : std::uint8_t { comm, group, datatype, op, info, errhandler, request, message, win, file };
inline constexpr std::size_t kHandleKinds = 10;

template <class T>
struct Handle {
  using Of = T;
  HandleWord word;
};

/// What the library exports for a predefined handle. `Bytes` are the interface's: an executable has a copy of so many.
template <class T, std::size_t Bytes>
struct alignas(16) Exported {
  HandleWord word;
  char rest[Bytes - sizeof(HandleWord)] = {};
};

// NOLINTBEGIN(readability-identifier-naming): the names of the standard.
using MPI_Comm = Handle<Comm>*;
using MPI_Datatype = Handle<Datatype>*;
using MPI_Errhandler = Handle<ErrorHandler>*;
using MPI_File = Handle<File>*;
using MPI_Group = Handle<Group>*;
using MPI_Info = Handle<Info>*;
using MPI_Message = Handle<Message>*;
using MPI_Op = Handle<Op>*;
using MPI_Request = Handle<Request>*;
using MPI_Win = Handle<Window>*;
/// MPI_Offset and MPI_Count, too.
using MPI_Aint = std::int64_t;
using MPI_Fint = int;

struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int cancelled;
  std::size_t bytes;
};
// NOLINTEND(readability-identifier-naming)
static_assert(sizeof(MPI_Status) == 24);

/// A function of the program; whoever calls it knows its type.
using Function = void (*)();

inline constexpr int kSuccess = 0;
/// MPI_STATUS_SIZE in Fortran: a status is so many INTEGERs.
inline constexpr std::size_t kFortranStatusSize = 6;

}  // namespace openmpi
}  // namespace coracle::mpi
