// ErrorHandler: what becomes of an error; error classes and codes of the program; their texts.
#pragma once

#include <cstdint>
#include <string>

#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core/object.hpp"

namespace coracle::mpi {

class ErrorHandler final : public Object {
 public:
  enum class Kind : std::uint8_t { are_fatal, abort, give_back, user };
  /// Calls the program's function by its language: the ABI's business. `code` in the core's numbers.
  using Call = void (*)(Object& object, int& code, const char* text, void* function);

  explicit ErrorHandler(Kind of) noexcept : kind(of) {}
  ErrorHandler(Call by, void* of) noexcept : kind(Kind::user), call(by), function(of) {}

  bool is_fatal() const noexcept { return kind == Kind::are_fatal || kind == Kind::abort; }

  const Kind kind;
  Call call = nullptr;
  void* function = nullptr;

 private:
  ~ErrorHandler() override = default;
};

/// MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN (by `kind`, which is not user).
ErrorHandler& predefined_error_handler(ErrorHandler::Kind kind);
/// MPI_Comm_create_errhandler and the like: `call` calls `function` by its language.
ErrorHandler* create_error_handler(ErrorHandler::Call call, void* function);
/// Throws MpiError (errhandler) for MPI_ERRHANDLER_NULL.
ErrorHandler& checked(ErrorHandler* handler);

/// Tells `object`'s handler of an error in the function `name` (such as "MPI_Send") and gives what that returns, in the
/// core's numbers. Fatal ones print the text, with rank, function and communicator, and end the job.
int handle_error(ErrorHandler& handler, Object& object, const MpiError& error, const char* name) noexcept;
/// Where there is no handler: before MPI_Init, and after MPI_Finalize.
[[noreturn]] void end_by_error(const MpiError& error, const char* name) noexcept;

/// The first code that a program adds; those below are MPI's in all ABIs.
inline constexpr int kFirstAddedCode = 100;
/// The standard's text of a class, or what the program has said of its own. Throws MpiError (arg).
std::string error_text(int code);
/// The class of a code.
int error_class_of(int code);
/// Both change MPI_LASTUSEDCODE.
int add_error_class();
int add_error_code(int error_class);
/// Throws MpiError (arg) for a code that is not the program's.
void set_error_text(int code, std::string text);

}  // namespace coracle::mpi
