// FileDescriptor: a file descriptor that is closed with its owner; and pipes of such.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::internals {

class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  /// Takes it over; below 0: none.
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    close();
    fd_ = other.release();
    return *this;
  }
  ~FileDescriptor() { close(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  /// Gives it to the caller.
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Leaves errno as it is.
  void close() noexcept {
    const int error = errno;
    if (fd_ >= 0) ::close(release());
    errno = error;
  }

 private:
  int fd_ = -1;
};

/// The reading and the writing end, both close-on-exec. Throws Error: "can't make a pipe for `what`".
inline std::array<FileDescriptor, 2> make_pipe(const std::string& what, int flags = 0) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | flags) != 0) throw_errno(errno, "can't make a pipe for " + what);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

inline void make_non_blocking(const FileDescriptor& descriptor) noexcept {
  ::fcntl(descriptor.get(), F_SETFL, ::fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace coracle::internals
