// By the C library, which says why it could not.
#include "runtime/insight/output_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::internals {

OutputFile::OutputFile(std::string path, const std::string& cannot)
    : path_(std::move(path)), was_there_(::access(path_.c_str(), F_OK) == 0), file_(std::fopen(path_.c_str(), "we")) {
  if (!file_) throw_errno(errno, cannot);
}

OutputFile::~OutputFile() {
  if (file_ && !was_there_) ::unlink(path_.c_str());
}

std::string OutputFile::finish(bool is_written) {
  const int error = errno;
  if (std::fclose(file_.release()) != 0) return std::strerror(errno);
  return is_written ? "" : std::strerror(error);
}

}  // namespace coracle::internals
