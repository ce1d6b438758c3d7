#include "interfaces/mpi/openmpi/objects.hpp"

#include <string_view>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/message.hpp"
#include "interfaces/mpi/core/operation.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/openmpi/fortran_numbers.hpp"

namespace coracle::mpi::openmpi {
namespace {

Object* error_handler_object(std::string_view name) {
  using Kind = ErrorHandler::Kind;
  if (name == "MPI_ERRORS_RETURN") return &predefined_error_handler(Kind::give_back);
  // Open MPI's C++ interface without exceptions ends the program, too.
  if (name == "MPI_ERRORS_ARE_FATAL") return &predefined_error_handler(Kind::are_fatal);
  return name == "MPI::ERRORS_THROW_EXCEPTIONS" ? new ErrorHandler(Kind::are_fatal) : nullptr;
}

Object* comm_object(std::string_view name) {
  if (name == "MPI_COMM_WORLD") return &World::get().comm_world();
  return name == "MPI_COMM_SELF" ? &World::get().comm_self() : nullptr;
}

/// Null for a null handle, and for what the core does not know.
Object* object_named(HandleKind kind, const char* text) {
  const std::string_view name = text;
  if (name.ends_with("_NULL")) return nullptr;
  switch (kind) {
    case HandleKind::comm:
      return comm_object(name);
    case HandleKind::group:
      return &empty_group();
    case HandleKind::datatype:
      return predefined_datatype(text);
    case HandleKind::op:
      return predefined_op(text);
    case HandleKind::info:
      return &environment_info();
    case HandleKind::errhandler:
      return error_handler_object(name);
    case HandleKind::message:
      return &Message::no_process();
    default:
      return nullptr;
  }
}

}  // namespace

void attach_predefined() {
  for (const Predefined& each : predefined_handles()) {
    if (Object* const object = object_named(each.kind, each.name)) object->set_handle(each.word);
    set_fortran_number(each.kind, *each.word, each.number);
  }
}

}  // namespace coracle::mpi::openmpi
