#include "interfaces/mpi/openmpi/callbacks.hpp"

#include <algorithm>
#include <limits>

#include "interfaces/mpi/by_hand.hpp"
#include "interfaces/mpi/core/generalized_request.hpp"
#include "interfaces/mpi/openmpi/entry.hpp"

namespace coracle::mpi::openmpi {
namespace {

void call_user_function(const void* in, void* inout, Count count, Datatype& datatype, void* function) {
  const auto& user = *static_cast<const UserFunction*>(function);
  MPI_Datatype type = handle_of(&datatype);
  const char* from = static_cast<const char*>(in);
  char* to = static_cast<char*>(inout);
  // Its count is an int.
  while (count > 0) {
    int now = static_cast<int>(std::min<Count>(count, std::numeric_limits<int>::max()));
    const Count bytes = now * datatype.extent();
    count -= now;
    // libmpi_cxx's function takes the program's as well; any other never looks at it.
    user.function(const_cast<char*>(from), to, &now, &type, user.of_cxx);
    from += bytes;
    to += bytes;
  }
}

void call_error_function(Object& object, int& code, const char* text, void* function) {
  auto comm = reinterpret_cast<MPI_Comm>(object.handle());
  int abi_code = code_to(code);
  function_as<CommErrorFunction>(function)(&comm, &abi_code, text);
  code = code_from(abi_code);
}

template <class Handle, class Copy>
int call_copy(Object& old_object, int keyval, void* extra, void* value_in, void** value_out, bool& copied,
              void* function) {
  int flag = 0;
  const auto handle = reinterpret_cast<Handle>(old_object.handle());
  const int code = function_as<Copy>(function)(handle, keyval_to(keyval), extra, value_in, value_out, &flag);
  copied = flag != 0;
  return code_from(code);
}

template <class Handle, class Delete>
int call_delete(Object& object, int keyval, void* value, void* extra, void* function) {
  const auto handle = reinterpret_cast<Handle>(object.handle());
  return code_from(function_as<Delete>(function)(handle, keyval_to(keyval), value, extra));
}

template <class Handle, class Copy, class Delete>
AttributeFunctions functions_of(Function copy, Function remove, void* extra) noexcept {
  return {.copy = copy != nullptr ? &call_copy<Handle, Copy> : nullptr,
          .remove = remove != nullptr ? &call_delete<Handle, Delete> : nullptr,
          .copy_function = address_of(copy),
          .delete_function = address_of(remove),
          .extra = extra};
}

int call_query(void* extra, Status& status, void* function) {
  MPI_Status given{};
  store_status(status, &given);
  const int code = function_as<QueryFunction>(function)(extra, &given);
  status = status_from(&given, "status");
  status.error = 0;
  return code_from(code);
}

int call_free(void* extra, void* function) {
  return code_from(function_as<FreeFunction>(function)(extra));
}

int call_cancel(void* extra, bool complete, void* function) {
  return code_from(function_as<CancelFunction>(function)(extra, complete ? 1 : 0));
}

template <class T>
T& checked_object(T* object, const char* name) {
  if (object == nullptr) raise(kNoun<T>.error, "{} is the null {}", name, kNoun<T>.noun);
  return *object;
}

void check_function(Function function, const char* name) {
  if (function == nullptr) raise(ErrorClass::arg, "{} is a null pointer: it is to be a function", name);
}

/// MPI-3.1, 17.2.7: C gets the address of an integer that Fortran has set.
void give_attribute(const Attributes& attributes, int keyval, void* place, bool& flag) {
  check_place(place, "attribute_val");
  const AttributeValue* const found = attributes.get(keyval);
  flag = found != nullptr;
  if (!flag) return;
  const bool is_pointer = found->kind == AttributeKind::pointer;
  *static_cast<const void**>(place) = is_pointer ? found->value : static_cast<const void*>(&found->value);
}

}  // namespace

UserFunction*& last_user_function() noexcept {
  static UserFunction* last = nullptr;
  return last;
}

namespace by_hand {

void grequest_start(Function query_fn, Function free_fn, Function cancel_fn, void* extra_state, Request*& request) {
  check_function(query_fn, "query_fn");
  check_function(free_fn, "free_fn");
  check_function(cancel_fn, "cancel_fn");
  request = new GeneralizedRequest({.query = &call_query,
                                    .free = &call_free,
                                    .cancel = &call_cancel,
                                    .query_function = address_of(query_fn),
                                    .free_function = address_of(free_fn),
                                    .cancel_function = address_of(cancel_fn),
                                    .extra = extra_state});
}

void op_create(Function user_fn, bool commute, Op*& op) {
  check_function(user_fn, "user_fn");
  // As long as the process: a reduction may still be under way when the operation is freed.
  last_user_function() = new UserFunction{reinterpret_cast<CUserFunction>(user_fn), nullptr};
  op = create_op(&call_user_function, last_user_function(), commute);
}

void comm_create_errhandler(Function comm_errhandler_fn, ErrorHandler*& errhandler) {
  check_function(comm_errhandler_fn, "comm_errhandler_fn");
  errhandler = create_error_handler(&call_error_function, address_of(comm_errhandler_fn));
}

void comm_create_keyval(Function copy_fn, Function delete_fn, int& keyval, void* extra_state) {
  keyval = make_keyval(KeyvalOf::comm,
                       functions_of<MPI_Comm, CommCopyFunction, CommDeleteFunction>(copy_fn, delete_fn, extra_state));
}

void comm_set_attr(Comm* comm, int keyval, void* value) {
  checked(comm).attributes.set(*comm, keyval, {value, AttributeKind::pointer});
}

void comm_get_attr(Comm* comm, int keyval, void* value, bool& flag) {
  give_attribute(checked(comm).attributes, keyval, value, flag);
}

void type_create_keyval(Function copy_fn, Function delete_fn, int& keyval, void* extra_state) {
  keyval = make_keyval(KeyvalOf::datatype, functions_of<MPI_Datatype, TypeCopyFunction, TypeDeleteFunction>(
                                               copy_fn, delete_fn, extra_state));
}

void type_set_attr(Datatype* datatype, int keyval, void* value) {
  checked_object(datatype, "datatype").attributes.set(*datatype, keyval, {value, AttributeKind::pointer});
}

void type_get_attr(Datatype* datatype, int keyval, void* value, bool& flag) {
  give_attribute(checked_object(datatype, "datatype").attributes, keyval, value, flag);
}

namespace {

Ref<ErrorHandler>& file_handler() {
  static Ref<ErrorHandler> handler(&predefined_error_handler(ErrorHandler::Kind::give_back));
  return handler;
}

void check_null_file(MPI_File fh) {
  if (fh != reinterpret_cast<MPI_File>(&ompi_mpi_file_null)) {
    raise(ErrorClass::file, "fh is no file: Coracle has no files yet, only MPI_FILE_NULL");
  }
}

}  // namespace

// Of MPI_FILE_NULL, that is, of files that will be opened: libraries set it at their start.
void file_set_errhandler(MPI_File fh, ErrorHandler* errhandler) {
  check_null_file(fh);
  file_handler() = Ref<ErrorHandler>(&checked_object(errhandler, "errhandler"));
}

void file_get_errhandler(MPI_File fh, ErrorHandler*& errhandler) {
  check_null_file(fh);
  errhandler = Ref<ErrorHandler>(file_handler()).give();
}

}  // namespace by_hand
}  // namespace coracle::mpi::openmpi
