// A folder is entered and left by descriptors: its name may change meanwhile.
#include "runtime/launch/rank_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/core/error.hpp"
#include "runtime/launch/processes.hpp"

namespace coracle::internals {

InDirectory::InDirectory(const std::string& directory) {
  if (directory.empty()) return;
  former_ = ::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (former_ < 0) throw_errno(errno, "can't open the present folder");
  if (::chdir(directory.c_str()) == 0) return;
  const int error = errno;
  ::close(former_);
  throw_errno(error, fmt::format("can't go to the folder {} of the ranks (--wdir)", directory));
}

InDirectory::~InDirectory() {
  if (former_ < 0) return;
  // It was the present folder a moment ago, and is entered by its descriptor.
  [[maybe_unused]] const int status = ::fchdir(former_);
  ::close(former_);
}

std::string find_program(const ProgramPart& part) {
  const InDirectory there(part.directory);
  return find_program(part.program);
}

}  // namespace coracle::internals
