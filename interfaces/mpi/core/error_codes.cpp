// Error classes and codes, and their texts: the standard's, and those that the program has added.
#include <array>
#include <vector>

#include "interfaces/mpi/core/attributes.hpp"
#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/error_handler.hpp"

namespace coracle::mpi {

namespace {

// By class.
constexpr std::array kTexts = {
    "MPI_SUCCESS: no error",
    "MPI_ERR_BUFFER: invalid buffer pointer",
    "MPI_ERR_COUNT: invalid count argument",
    "MPI_ERR_TYPE: invalid datatype",
    "MPI_ERR_TAG: invalid tag",
    "MPI_ERR_COMM: invalid communicator",
    "MPI_ERR_RANK: invalid rank",
    "MPI_ERR_REQUEST: invalid request",
    "MPI_ERR_ROOT: invalid root",
    "MPI_ERR_GROUP: invalid group",
    "MPI_ERR_OP: invalid reduce operation",
    "MPI_ERR_TOPOLOGY: invalid communicator topology",
    "MPI_ERR_DIMS: invalid topology dimension",
    "MPI_ERR_ARG: invalid argument of some other kind",
    "MPI_ERR_UNKNOWN: unknown error",
    "MPI_ERR_TRUNCATE: message truncated",
    "MPI_ERR_OTHER: known error not in list",
    "MPI_ERR_INTERN: internal error",
    "MPI_ERR_PENDING: pending request",
    "MPI_ERR_IN_STATUS: error code in status",
    "MPI_ERR_ACCESS: permission to access the file denied",
    "MPI_ERR_AMODE: invalid access mode of a file",
    "MPI_ERR_ASSERT: invalid assertion",
    "MPI_ERR_BAD_FILE: invalid file name",
    "MPI_ERR_BASE: invalid base of freed memory",
    "MPI_ERR_CONVERSION: error in a data conversion function",
    "MPI_ERR_DISP: invalid displacement",
    "MPI_ERR_DUP_DATAREP: data representation already defined",
    "MPI_ERR_FILE_EXISTS: file exists already",
    "MPI_ERR_FILE_IN_USE: file is in use",
    "MPI_ERR_FILE: invalid file handle",
    "MPI_ERR_INFO_KEY: invalid info key",
    "MPI_ERR_INFO_NOKEY: no such info key",
    "MPI_ERR_INFO_VALUE: invalid info value",
    "MPI_ERR_INFO: invalid info object",
    "MPI_ERR_IO: input or output failed",
    "MPI_ERR_KEYVAL: invalid attribute key",
    "MPI_ERR_LOCKTYPE: invalid lock type",
    "MPI_ERR_NAME: service name not published",
    "MPI_ERR_NO_MEM: out of memory",
    "MPI_ERR_NOT_SAME: arguments of the processes of a collective call differ",
    "MPI_ERR_NO_SPACE: not enough space for the file",
    "MPI_ERR_NO_SUCH_FILE: no such file",
    "MPI_ERR_PORT: invalid port",
    "MPI_ERR_QUOTA: quota exceeded",
    "MPI_ERR_READ_ONLY: file or file system is read-only",
    "MPI_ERR_RMA_ATTACH: memory cannot be attached",
    "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window",
    "MPI_ERR_RMA_RANGE: target memory is not part of the window",
    "MPI_ERR_RMA_SHARED: memory cannot be shared",
    "MPI_ERR_RMA_SYNC: wrong synchronization of one-sided calls",
    "MPI_ERR_SERVICE: invalid service name",
    "MPI_ERR_SIZE: invalid size",
    "MPI_ERR_SPAWN: spawning of processes failed",
    "MPI_ERR_UNSUPPORTED_DATAREP: unsupported data representation",
    "MPI_ERR_UNSUPPORTED_OPERATION: unsupported operation",
    "MPI_ERR_WIN: invalid window",
    "MPI_ERR_RMA_FLAVOR: window has the wrong flavor",
    "MPI_ERR_PROC_ABORTED: a process has aborted",
    "MPI_ERR_VALUE_TOO_LARGE: value is too large to store",
    "MPI_ERR_SESSION: invalid session",
    "MPI_ERR_ERRHANDLER: invalid error handler",
};
static_assert(kTexts.size() == static_cast<std::size_t>(ErrorClass::errhandler) + 1);

struct AddedCode {
  int error_class;
  std::string text;
};

/// The program's, numbered from kFirstAddedCode on.
std::vector<AddedCode>& added_codes() {
  static auto& codes = *new std::vector<AddedCode>;
  return codes;
}

bool is_standard(int code) noexcept {
  return code >= 0 && static_cast<std::size_t>(code) < kTexts.size();
}

AddedCode* find_added(int code) {
  std::vector<AddedCode>& codes = added_codes();
  const bool is_there = code >= kFirstAddedCode && static_cast<std::size_t>(code - kFirstAddedCode) < codes.size();
  return is_there ? &codes[static_cast<std::size_t>(code - kFirstAddedCode)] : nullptr;
}

[[noreturn]] void refuse_code(int code) {
  raise(ErrorClass::arg, "{} is no error code: neither one of MPI's, nor one that the program has added", code);
}

int next_code() noexcept {
  return kFirstAddedCode + static_cast<int>(added_codes().size());
}

int add_code(int error_class) {
  const int code = next_code();
  added_codes().push_back({error_class, {}});
  set_predefined_attribute(kLastUsedCode, AttributeValue::of_number(code));
  return code;
}

}  // namespace

std::string error_text(int code) {
  if (is_standard(code)) return kTexts[static_cast<std::size_t>(code)];
  if (const AddedCode* added = find_added(code)) return added->text;
  refuse_code(code);
}

int error_class_of(int code) {
  if (is_standard(code)) return code;
  if (const AddedCode* added = find_added(code)) return added->error_class;
  refuse_code(code);
}

int add_error_class() {
  return add_code(next_code());
}

int add_error_code(int error_class) {
  const bool is_class = is_standard(error_class) || error_class_of(error_class) == error_class;
  if (!is_class)
    raise(ErrorClass::arg, "{} is an error code of class {}: give a class", error_class, error_class_of(error_class));
  return add_code(error_class);
}

void set_error_text(int code, std::string text) {
  if (is_standard(code))
    raise(ErrorClass::arg, "{} is MPI's own: only codes and classes that the program has added get a text", code);
  AddedCode* added = find_added(code);
  if (added == nullptr) refuse_code(code);
  if (text.size() >= kErrorStringMax)
    raise(ErrorClass::arg, "the text has {} characters: at most {} are allowed", text.size(), kErrorStringMax - 1);
  added->text = std::move(text);
}

}  // namespace coracle::mpi
