// MPI's functions of error handlers and codes.
#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/error_handler.hpp"

namespace coracle::mpi {

void errhandler_free(ErrorHandler*& errhandler) {
  checked(errhandler);
  free_handle(errhandler);
}

void error_class(int errorcode, int& errorclass) {
  errorclass = error_class_of(errorcode);
}

void error_string(int errorcode, std::string& string) {
  string = error_text(errorcode);
}

void add_error_class(int& errorclass) {
  errorclass = add_error_class();
}

void add_error_code(int errorclass, int& errorcode) {
  errorcode = add_error_code(errorclass);
}

void add_error_string(int errorcode, const char* string) {
  if (string == nullptr) raise(ErrorClass::arg, "the text is a null pointer");
  set_error_text(errorcode, string);
}

void comm_set_errhandler(Comm* comm, ErrorHandler* errhandler) {
  checked(comm).error_handler = Ref<ErrorHandler>(&checked(errhandler));
}

void comm_get_errhandler(Comm* comm, ErrorHandler*& errhandler) {
  errhandler = Ref<ErrorHandler>(checked(comm).error_handler).give();
}

/// What the handler makes of the code is not the function's own error.
void comm_call_errhandler(Comm* comm, int errorcode) {
  Comm& called = checked(comm);
  handle_error(*called.error_handler, called, MpiError(errorcode, error_text(errorcode)), "MPI_Comm_call_errhandler");
}

}  // namespace coracle::mpi
