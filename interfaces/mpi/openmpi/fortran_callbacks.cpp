// Entry points of Fortran that hand functions or attributes to the core: in this library, which has it; libmpi_mpifh
// calls them. A function of Fortran gets addresses, handles as numbers, and gives its error code in its last argument.
#include "interfaces/mpi/core/generalized_request.hpp"
#include "interfaces/mpi/entry_points.hpp"
#include "interfaces/mpi/openmpi/callbacks.hpp"
#include "interfaces/mpi/openmpi/entry.hpp"
#include "interfaces/mpi/openmpi/raw.hpp"

namespace coracle::mpi::openmpi {
namespace {

using UserFunctionOfFortran = void (*)(const void* in, void* inout, MPI_Fint* count, MPI_Fint* datatype);
using ErrorFunctionOfFortran = void (*)(MPI_Fint* comm, MPI_Fint* code);
using QueryFunctionOfFortran = void (*)(MPI_Aint* extra, MPI_Status* status, MPI_Fint* error);
using FreeFunctionOfFortran = void (*)(MPI_Aint* extra, MPI_Fint* error);
using CancelFunctionOfFortran = void (*)(MPI_Aint* extra, MPI_Fint* complete, MPI_Fint* error);
// Integer: MPI_Aint, or of MPI-1 MPI_Fint.
template <class Integer>
using CopyFunctionOfFortran = void (*)(MPI_Fint* old, MPI_Fint* keyval, Integer* extra, Integer* in, Integer* out,
                                       MPI_Fint* flag, MPI_Fint* error);
template <class Integer>
using DeleteFunctionOfFortran = void (*)(MPI_Fint* object, MPI_Fint* keyval, Integer* value, Integer* extra,
                                         MPI_Fint* error);

template <class Body>
void answer(const char* name, MPI_Fint* ierror, Body body) noexcept {
  int code = kSuccess;
  try {
    const RunningCall call;
    body();
  } catch (...) {
    code = failed(name);
  }
  if (ierror != nullptr) *ierror = code;
}

template <class Integer>
Integer integer_in(const void* pointer) noexcept {
  return static_cast<Integer>(reinterpret_cast<std::intptr_t>(pointer));
}
void* pointer_of(std::intptr_t integer) noexcept {
  return reinterpret_cast<void*>(integer);
}

void call_fortran_operation(const void* in, void* inout, Count count, Datatype& datatype, void* function) {
  MPI_Fint narrow = int_of(count, "the number of elements");
  MPI_Fint type = fortran_number(HandleKind::datatype, *datatype.handle());
  function_as<UserFunctionOfFortran>(function)(in, inout, &narrow, &type);
}

void call_fortran_error_handler(Object& object, int& code, const char*, void* function) {
  MPI_Fint comm = fortran_number(HandleKind::comm, *object.handle());
  MPI_Fint abi_code = code_to(code);
  function_as<ErrorFunctionOfFortran>(function)(&comm, &abi_code);
  code = code_from(abi_code);
}

template <HandleKind kKind, class Integer>
int call_fortran_copy(Object& old_object, int keyval, void* extra, void* value_in, void** value_out, bool& copied,
                      void* function) {
  MPI_Fint old = fortran_number(kKind, *old_object.handle());
  MPI_Fint key = keyval_to(keyval);
  auto state = integer_in<Integer>(extra);
  auto in = integer_in<Integer>(value_in);
  Integer out = 0;
  MPI_Fint flag = 0;
  MPI_Fint error = kSuccess;
  function_as<CopyFunctionOfFortran<Integer>>(function)(&old, &key, &state, &in, &out, &flag, &error);
  copied = flag != 0;
  *value_out = pointer_of(out);
  return code_from(error);
}

template <HandleKind kKind, class Integer>
int call_fortran_delete(Object& object, int keyval, void* value, void* extra, void* function) {
  MPI_Fint of = fortran_number(kKind, *object.handle());
  MPI_Fint key = keyval_to(keyval);
  auto number = integer_in<Integer>(value);
  auto state = integer_in<Integer>(extra);
  MPI_Fint error = kSuccess;
  function_as<DeleteFunctionOfFortran<Integer>>(function)(&of, &key, &number, &state, &error);
  return code_from(error);
}

template <HandleKind kKind, class Integer>
void create_keyval(KeyvalOf of, Function copy, Function remove, MPI_Fint* keyval, const void* extra) {
  *keyval = keyval_to(make_keyval(of, {.copy = &call_fortran_copy<kKind, Integer>,
                                       .remove = &call_fortran_delete<kKind, Integer>,
                                       .copy_function = address_of(copy),
                                       .delete_function = address_of(remove),
                                       .extra = pointer_of(*static_cast<const Integer*>(extra))}));
}

Comm& comm_with(MPI_Fint number) {
  return checked(object_of(PMPI_Comm_f2c(number), "comm"));
}

Datatype& datatype_with(MPI_Fint number) {
  Datatype* const found = object_of(PMPI_Type_f2c(number), "datatype");
  if (found == nullptr) raise(ErrorClass::type, "datatype is MPI_DATATYPE_NULL");
  return *found;
}

/// MPI-3.1, 17.2.7: an address that C has set is an integer here.
template <class Integer>
void give_fortran_attribute(const Attributes& attributes, MPI_Fint keyval, void* place, MPI_Fint* flag) {
  const AttributeValue* const found = attributes.get(keyval_from(keyval));
  *flag = found != nullptr ? 1 : 0;
  if (found != nullptr) *static_cast<Integer*>(place) = integer_in<Integer>(found->value);
}

template <class Integer>
AttributeValue value_at(const void* place) noexcept {
  constexpr bool is_address = sizeof(Integer) == sizeof(void*);
  return {pointer_of(*static_cast<const Integer*>(place)),
          is_address ? AttributeKind::fortran_address : AttributeKind::fortran_integer};
}

// Of generalised requests, as in Open MPI: the functions get the program's own variable, and may change it.
int call_fortran_query(void* extra, Status& status, void* function) {
  MPI_Status given{};
  store_status(status, &given);
  MPI_Fint error = kSuccess;
  function_as<QueryFunctionOfFortran>(function)(static_cast<MPI_Aint*>(extra), &given, &error);
  status = status_from(&given, "status");
  status.error = 0;
  return code_from(error);
}

int call_fortran_free(void* extra, void* function) {
  MPI_Fint error = kSuccess;
  function_as<FreeFunctionOfFortran>(function)(static_cast<MPI_Aint*>(extra), &error);
  return code_from(error);
}

int call_fortran_cancel(void* extra, bool complete, void* function) {
  MPI_Fint flag = complete ? 1 : 0;
  MPI_Fint error = kSuccess;
  function_as<CancelFunctionOfFortran>(function)(static_cast<MPI_Aint*>(extra), &flag, &error);
  return code_from(error);
}

template <class T>
MPI_Fint number_for(HandleKind kind, T* object) {
  return fortran_number(kind, *object->handle());
}

}  // namespace

extern "C" {

void coracle_ompi_op_create_f(Function user_fn, const MPI_Fint* commute, MPI_Fint* op, MPI_Fint* ierror) {
  answer("MPI_Op_create", ierror, [&] {
    *op = number_for(HandleKind::op, create_op(&call_fortran_operation, address_of(user_fn), *commute != 0));
  });
}

void coracle_ompi_comm_create_errhandler_f(Function function, MPI_Fint* errhandler, MPI_Fint* ierror) {
  answer("MPI_Comm_create_errhandler", ierror, [&] {
    *errhandler =
        number_for(HandleKind::errhandler, create_error_handler(&call_fortran_error_handler, address_of(function)));
  });
}

void coracle_ompi_errhandler_create_f(Function function, MPI_Fint* errhandler, MPI_Fint* ierror) {
  coracle_ompi_comm_create_errhandler_f(function, errhandler, ierror);
}

void coracle_ompi_comm_create_keyval_f(Function copy, Function remove, MPI_Fint* keyval, void* extra,
                                       MPI_Fint* ierror) {
  answer("MPI_Comm_create_keyval", ierror,
         [&] { create_keyval<HandleKind::comm, MPI_Aint>(KeyvalOf::comm, copy, remove, keyval, extra); });
}

void coracle_ompi_keyval_create_f(Function copy, Function remove, MPI_Fint* keyval, void* extra, MPI_Fint* ierror) {
  answer("MPI_Keyval_create", ierror,
         [&] { create_keyval<HandleKind::comm, MPI_Fint>(KeyvalOf::comm, copy, remove, keyval, extra); });
}

void coracle_ompi_type_create_keyval_f(Function copy, Function remove, MPI_Fint* keyval, void* extra,
                                       MPI_Fint* ierror) {
  answer("MPI_Type_create_keyval", ierror,
         [&] { create_keyval<HandleKind::datatype, MPI_Aint>(KeyvalOf::datatype, copy, remove, keyval, extra); });
}

void coracle_ompi_comm_set_attr_f(const MPI_Fint* comm, const MPI_Fint* keyval, void* value, MPI_Fint* ierror) {
  answer("MPI_Comm_set_attr", ierror, [&] {
    Comm& of = comm_with(*comm);
    of.attributes.set(of, keyval_from(*keyval), value_at<MPI_Aint>(value));
  });
}

void coracle_ompi_attr_put_f(const MPI_Fint* comm, const MPI_Fint* keyval, void* value, MPI_Fint* ierror) {
  answer("MPI_Attr_put", ierror, [&] {
    Comm& of = comm_with(*comm);
    of.attributes.set(of, keyval_from(*keyval), value_at<MPI_Fint>(value));
  });
}

void coracle_ompi_type_set_attr_f(const MPI_Fint* datatype, const MPI_Fint* keyval, void* value, MPI_Fint* ierror) {
  answer("MPI_Type_set_attr", ierror, [&] {
    Datatype& of = datatype_with(*datatype);
    of.attributes.set(of, keyval_from(*keyval), value_at<MPI_Aint>(value));
  });
}

void coracle_ompi_comm_get_attr_f(const MPI_Fint* comm, const MPI_Fint* keyval, void* value, MPI_Fint* flag,
                                  MPI_Fint* ierror) {
  answer("MPI_Comm_get_attr", ierror,
         [&] { give_fortran_attribute<MPI_Aint>(comm_with(*comm).attributes, *keyval, value, flag); });
}

void coracle_ompi_attr_get_f(const MPI_Fint* comm, const MPI_Fint* keyval, void* value, MPI_Fint* flag,
                             MPI_Fint* ierror) {
  answer("MPI_Attr_get", ierror,
         [&] { give_fortran_attribute<MPI_Fint>(comm_with(*comm).attributes, *keyval, value, flag); });
}

void coracle_ompi_type_get_attr_f(const MPI_Fint* datatype, const MPI_Fint* keyval, void* value, MPI_Fint* flag,
                                  MPI_Fint* ierror) {
  answer("MPI_Type_get_attr", ierror,
         [&] { give_fortran_attribute<MPI_Aint>(datatype_with(*datatype).attributes, *keyval, value, flag); });
}

void coracle_ompi_grequest_start_f(Function query, Function free, Function cancel, void* extra, MPI_Fint* request,
                                   MPI_Fint* ierror) {
  answer("MPI_Grequest_start", ierror, [&] {
    *request = number_for(HandleKind::request, new GeneralizedRequest({.query = &call_fortran_query,
                                                                       .free = &call_fortran_free,
                                                                       .cancel = &call_fortran_cancel,
                                                                       .query_function = address_of(query),
                                                                       .free_function = address_of(free),
                                                                       .cancel_function = address_of(cancel),
                                                                       .extra = extra}));
  });
}

/// Fortran has no use for the address.
void coracle_ompi_buffer_detach_f(void*, MPI_Fint* size, MPI_Fint* ierror) {
  void* address = nullptr;
  const int code = PMPI_Buffer_detach(&address, size);
  if (ierror != nullptr) *ierror = code;
}

}  // extern "C"
}  // namespace coracle::mpi::openmpi
