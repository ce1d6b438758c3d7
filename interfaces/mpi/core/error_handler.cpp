#include "interfaces/mpi/core/error_handler.hpp"

#include <array>
#include <cstdio>

#include "interfaces/mpi/core/process.hpp"
#include "interfaces/mpi/core/program_stack.hpp"

namespace coracle::mpi {

namespace {

ErrorHandler* make_predefined_handler(ErrorHandler::Kind kind) {
  auto* handler = new ErrorHandler(kind);
  handler->set_predefined();
  return handler;
}

/// The status with which a job ends by an error: its class, since launchers see 8 bits.
int status_of(const MpiError& error) noexcept {
  return error.code() > 0 && error.code() < 128 ? error.code() : 1;
}

/// After the message itself, since finding source lines takes time in which others may end the job.
void tell_callers(const char* name) noexcept {
  try {
    const std::string callers = describe_callers();
    if (callers.empty()) return;
    std::fprintf(stderr, "coracle: rank %u has called %s in\n%s", this_process().rank, name, callers.c_str());
  } catch (...) {  // no memory: the message has been told
  }
}

[[noreturn]] void end_by_error(const Object* object, const MpiError& error, const char* name) noexcept {
  const std::string label = object != nullptr ? object->label() : std::string();
  std::fprintf(stderr, "coracle: rank %u: %s%s%s: %s\n", this_process().rank, name, label.empty() ? "" : " on ",
               label.c_str(), error.what());
  tell_callers(name);
  abort_job(status_of(error));
}

}  // namespace

ErrorHandler& predefined_error_handler(ErrorHandler::Kind kind) {
  static const std::array handlers{make_predefined_handler(ErrorHandler::Kind::are_fatal),
                                   make_predefined_handler(ErrorHandler::Kind::abort),
                                   make_predefined_handler(ErrorHandler::Kind::give_back)};
  return *handlers[static_cast<std::size_t>(kind)];
}

ErrorHandler* create_error_handler(ErrorHandler::Call call, void* function) {
  if (function == nullptr) raise(ErrorClass::arg, "the error handler's function is a null pointer");
  return new ErrorHandler(call, function);
}

ErrorHandler& checked(ErrorHandler* handler) {
  if (handler == nullptr)
    raise(ErrorClass::errhandler,
          "the error handler is MPI_ERRHANDLER_NULL: give a predefined one, such as "
          "MPI_ERRORS_RETURN, or one of MPI_Comm_create_errhandler");
  return *handler;
}

int handle_error(ErrorHandler& handler, Object& object, const MpiError& error, const char* name) noexcept {
  switch (handler.kind) {
    case ErrorHandler::Kind::give_back:
      return error.code();
    case ErrorHandler::Kind::user: {
      // The function may free the handler.
      const Ref<ErrorHandler> kept(&handler);
      int code = error.code();
      handler.call(object, code, error.what(), handler.function);
      return code;
    }
    default:
      end_by_error(&object, error, name);
  }
}

void end_by_error(const MpiError& error, const char* name) noexcept {
  end_by_error(nullptr, error, name);
}

}  // namespace coracle::mpi
