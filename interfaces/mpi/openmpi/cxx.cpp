// What Debian's libmpi_cxx (MPI's old interface of C++) calls of Open MPI's library beside MPI. It hands its own
// functions over, which call the program's.
#include <memory>

#include "interfaces/mpi/entry_points.hpp"
#include "interfaces/mpi/openmpi/callbacks.hpp"
#include "interfaces/mpi/openmpi/entry.hpp"
#include "interfaces/mpi/openmpi/raw.hpp"

namespace coracle::mpi::openmpi {
namespace {

using CxxDispatch = void (*)(void* handle, int* code, const char* text, Function function);

/// libmpi_cxx writes the function that calls the program's into the handle's object, at this place.
struct CxxErrorHandler {
  HandleWord word;
  char before[120 - sizeof(HandleWord)];
  CxxDispatch dispatch;
  Function function;
  char rest[1024 - 120 - 2 * sizeof(Function)];
};
static_assert(sizeof(CxxErrorHandler) >= 1024 && offsetof(CxxErrorHandler, dispatch) == 120);

void call_cxx_error_function(Object& object, int& code, const char* text, void* function) {
  const auto& handler = *static_cast<const CxxErrorHandler*>(function);
  void* handle = object.handle();
  int abi_code = code_to(code);
  handler.dispatch(&handle, &abi_code, text, handler.function);
  code = code_from(abi_code);
}

enum class AttributeOf : int { comm = 1, datatype = 2, window = 3 };

}  // namespace

extern "C" {

Handle<ErrorHandler>* ompi_errhandler_create(int, Function function, int) {
  // The program's to the end: handles of the C++ interface are copied freely.
  auto* const made = new CxxErrorHandler{};
  made->function = function;
  ErrorHandler* const handler = create_error_handler(&call_cxx_error_function, made);
  handler->set_handle(&made->word);
  return reinterpret_cast<Handle<ErrorHandler>*>(made);
}

int ompi_errhandler_invoke(Handle<ErrorHandler>* handler, void* object, int, int code, const char* text) {
  auto* const on = static_cast<Handle<Comm>*>(object);
  Object* const failed_object = on != nullptr ? on->word.object : nullptr;
  if (!World::is_there() || failed_object == nullptr || handler == nullptr || handler->word.object == nullptr)
    return code;
  const EarlyCall call;
  const MpiError error(code_from(code), text != nullptr ? text : "an error of the C++ interface");
  return code_to(
      handle_error(*static_cast<ErrorHandler*>(handler->word.object), *failed_object, error, "MPI (in C++)"));
}

/// libmpi_cxx has just made an operation by MPI_Op_create, of its own function, which is to get the program's as well.
void ompi_op_set_cxx_callback(MPI_Op, Function function) {
  last_user_function()->of_cxx = function;
}

int ompi_attr_create_keyval(int of, Function copy, Function remove, int* keyval, void* extra, int, void*) {
  switch (static_cast<AttributeOf>(of)) {
    case AttributeOf::comm:
      return PMPI_Comm_create_keyval(copy, remove, keyval, extra);
    case AttributeOf::datatype:
      return PMPI_Type_create_keyval(copy, remove, keyval, extra);
    default:
      return PMPI_Win_create_keyval(copy, remove, keyval, extra);
  }
}

}  // extern "C"
}  // namespace coracle::mpi::openmpi
