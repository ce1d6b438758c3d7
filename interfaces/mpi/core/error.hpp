// MpiError: what the core's functions throw. The entry points catch it and ask the error handler.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

#include "interfaces/mpi/core/object.hpp"

namespace coracle::mpi {

/// MPI's error classes, with the values of the standard ABI.
enum class ErrorClass : int {
  success = 0,
  buffer = 1,
  count = 2,
  type = 3,
  tag = 4,
  comm = 5,
  rank = 6,
  request = 7,
  root = 8,
  group = 9,
  op = 10,
  topology = 11,
  dims = 12,
  arg = 13,
  unknown = 14,
  truncate = 15,
  other = 16,
  intern = 17,
  pending = 18,
  in_status = 19,
  access = 20,
  amode = 21,
  assertion = 22,
  bad_file = 23,
  base = 24,
  conversion = 25,
  disp = 26,
  dup_datarep = 27,
  file_exists = 28,
  file_in_use = 29,
  file = 30,
  info_key = 31,
  info_nokey = 32,
  info_value = 33,
  info = 34,
  io = 35,
  keyval = 36,
  locktype = 37,
  name = 38,
  no_mem = 39,
  not_same = 40,
  no_space = 41,
  no_such_file = 42,
  port = 43,
  quota = 44,
  read_only = 45,
  rma_attach = 46,
  rma_conflict = 47,
  rma_range = 48,
  rma_shared = 49,
  rma_sync = 50,
  service = 51,
  size = 52,
  spawn = 53,
  unsupported_datarep = 54,
  unsupported_operation = 55,
  win = 56,
  rma_flavor = 57,
  proc_aborted = 58,
  value_too_large = 59,
  session = 60,
  errhandler = 61,
};

/// `code`: a class, or a code or class that the program has added (MPI_Add_error_code), all in the core's numbers.
/// `text` says what is wrong, with the values, and how to mend it. `origin`: the object whose error handler is told;
/// null where that is the function's communicator, or MPI_COMM_WORLD.
class MpiError : public std::exception {
 public:
  MpiError(int code, std::string text, Ref<Object> origin = {})
      : code_(code), text_(std::move(text)), origin_(std::move(origin)) {}
  MpiError(ErrorClass code, std::string text, Ref<Object> origin = {})
      : MpiError(static_cast<int>(code), std::move(text), std::move(origin)) {}
  /// Of an error that its user should know of also where the program has errors given back.
  MpiError told_always() && {
    is_told_always_ = true;
    return std::move(*this);
  }
  bool is_told_always() const noexcept { return is_told_always_; }
  int code() const noexcept { return code_; }
  const char* what() const noexcept override { return text_.c_str(); }
  const Ref<Object>& origin() const noexcept { return origin_; }

 private:
  int code_;
  std::string text_;
  Ref<Object> origin_;
  bool is_told_always_ = false;
};

/// The exception in flight (of the runtime, the core or the C++ library) as the core says it. Only in a catch block.
MpiError current_error() noexcept;

/// Calls `function`; the error handler of `origin` is told of what it throws. For functions without a communicator.
template <class Function>
void call_for(Object* origin, Function function) {
  try {
    function();
  } catch (...) {
    const MpiError error = current_error();
    throw MpiError(error.code(), error.what(), Ref<Object>(origin));
  }
}

template <class... Values>
[[noreturn]] void raise(ErrorClass code, fmt::format_string<Values...> format, Values&&... values) {
  throw MpiError(code, fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace coracle::mpi
