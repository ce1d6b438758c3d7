#include "storage/store/store_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/timer.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::chrono::seconds kLockWait{2};

int flags_of(StoreFile::Use use) noexcept {
  switch (use) {
    case StoreFile::Use::create:
      return O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    case StoreFile::Use::take_away:
      return O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    case StoreFile::Use::write:
      return O_RDWR | O_CLOEXEC;
    case StoreFile::Use::check:
      return O_RDONLY | O_CLOEXEC;
  }
  return O_RDONLY;
}

std::string remedy_for(const std::error_code& code) {
  if (code == std::errc::no_space_on_device) return "; make room on its file system, then try again";
  if (code == std::errc::io_error) return "; the device is failing or full (see the kernel's log)";
  if (code == std::errc::file_too_large)
    return "; raise the limit of file sizes (ulimit -f) or use another file system";
  if (code == std::errc::read_only_file_system) return "; the file system has become read-only (see the kernel's log)";
  if (code == std::errc::permission_denied) return "; make it readable and writable for this user";
  if (code == std::errc::no_such_file_or_directory) return "; name a file in a folder that exists";
  if (code == std::errc::too_many_symbolic_link_levels)
    return "; it is a symbolic link, and what it leads to is left alone: see who has put it there, and remove it";
  return {};
}

/// Throws Error unless it is a regular file.
void refuse_special(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return;
  const char* what = "a device";
  if (S_ISDIR(mode)) what = "a folder";
  if (S_ISFIFO(mode)) what = "a pipe";
  if (S_ISSOCK(mode)) what = "a socket";
  throw Error(Errc::bad_input, fmt::format("{} is not a file but {}; a page store is a regular file", path, what));
}

/// Throws Error unless it may be what an interrupted creation of this user has left.
void refuse_foreign(const std::string& path, const struct stat& status) {
  if (S_ISLNK(status.st_mode)) {
    const std::error_code code = std::make_error_code(std::errc::too_many_symbolic_link_levels);
    throw Error(code, fmt::format("{} can't be used{}", path, remedy_for(code)));
  }
  refuse_special(path, status.st_mode);
  if (status.st_uid != ::geteuid())
    throw Error(std::make_error_code(std::errc::permission_denied),
                fmt::format("{} belongs to another user (number {}), who could write to a store that was made of it: "
                            "see what it is for, and remove it, or use a folder of your own",
                            path, status.st_uid));
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

StoreFile::StoreFile(Io& io, std::string path, Use use) : io_(&io), path_(std::move(path)), use_(use) {
  check_path(path_);
  struct stat status {};
  // Asked before it is opened: opening alone may do something to a device. (What is to be made is not there.)
  if (use != Use::create && use != Use::take_away && ::stat(path_.c_str(), &status) == 0)
    refuse_special(path_, status.st_mode);
  if (use == Use::take_away && ::lstat(path_.c_str(), &status) == 0) refuse_foreign(path_, status);
  open_file();
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) {
    const std::error_code code(errno, std::generic_category());
    const std::string text = describe(use == Use::create ? "creation" : "opening", code);
    close();
    const bool interrupted =
        code == std::errc::no_such_file_or_directory && ::access((path_ + kUnfinished).c_str(), F_OK) == 0;
    throw Error(code, interrupted ? fmt::format("{}; {}{} is there: its creation was interrupted, create it again",
                                                text, path_, kUnfinished)
                                  : text);
  }
  try {
    refuse_special(path_, status.st_mode);
    if (use == Use::take_away) refuse_foreign(path_, status);
    // As it was: io_uring would not wait for such a file.
    ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) & ~O_NONBLOCK);
    kept_ = io_->keep_file(fd_);
  } catch (...) {
    close();
    throw;
  }
}

/// Leaves fd_ below 0 and errno behind where it can't be had.
void StoreFile::open_file() noexcept {
  // O_NONBLOCK: for what has taken the place of what was looked at.
  const int flags = flags_of(use_) | O_NONBLOCK;
  if (use_ == Use::create) {
    // Not O_DIRECT at once: where the file system does not take that, some kernels make the file and fail. And it is
    // opened anew for that: F_SETFL succeeds on overlayfs over what has no direct I/O, where each request fails then.
    fd_ = ::open(path_.c_str(), flags, 0666);
    if (fd_ < 0) return;
    char itself[32] = {};
    fmt::format_to_n(itself, sizeof(itself) - 1, "/proc/self/fd/{}", fd_);
    const int direct = ::open(itself, (flags & ~(O_CREAT | O_EXCL)) | O_DIRECT);
    direct_ = direct >= 0;
    if (direct_) ::close(std::exchange(fd_, direct));
    return;
  }
  fd_ = ::open(path_.c_str(), flags | O_DIRECT);
  if (fd_ >= 0 || errno != EINVAL) return;
  direct_ = false;
  fd_ = ::open(path_.c_str(), flags);
}

Task<> StoreFile::lock() {
  std::chrono::milliseconds waited{0};
  for (std::chrono::milliseconds pause{1}; ::flock(fd_, (use_ == Use::check ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0;
       pause *= 2) {
    const std::error_code code(errno, std::generic_category());
    if (code != std::errc::operation_would_block) throw Error(code, describe("locking", code));
    if (waited > kLockWait)
      throw Error(
          std::make_error_code(std::errc::device_or_resource_busy),
          fmt::format("{} is in use: another program, or this one, has it open; wait until it has ended", path_));
    const std::uint64_t before = real_clock().now_ns();
    co_await sleep_for(pause);
    // In `sim` the pause takes no time; who has the file open may be a program that has not quite ended.
    const std::chrono::nanoseconds passed(real_clock().now_ns() - before);
    if (passed < pause) std::this_thread::sleep_for(pause - passed);
    waited += pause;
  }
  struct stat status {};
  if (::fstat(fd_, &status) != 0) {
    const std::error_code code(errno, std::generic_category());
    throw Error(code, describe("looking at the size", code));
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

bool StoreFile::has_its_name(bool alone) const noexcept {
  struct stat named {};
  struct stat own {};
  if (::lstat(path_.c_str(), &named) != 0 || ::fstat(fd_, &own) != 0) return false;
  return named.st_ino == own.st_ino && named.st_dev == own.st_dev && (!alone || own.st_nlink == 1);
}

StoreFile::StoreFile(StoreFile&& other) noexcept
    : io_(other.io_),
      path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      kept_(std::exchange(other.kept_, false)),
      use_(other.use_),
      direct_(other.direct_),
      bytes_(other.bytes_) {}

void StoreFile::close() noexcept {
  if (fd_ < 0) return;
  if (std::exchange(kept_, false)) io_->forget_file(fd_);
  // io_uring may keep a finished request, and the file with it, until this thread enters the kernel's ring again:
  // whoever opens the file next would wait for a lock that nobody holds.
  ::flock(fd_, LOCK_UN);
  ::close(fd_);
  fd_ = -1;
}

std::string StoreFile::describe(const std::string& what, std::error_code code) const {
  return fmt::format("{} of {} failed: {}{}", what, path_, code.message(), remedy_for(code));
}

void StoreFile::grow(std::uint64_t bytes) {
  if (bytes <= bytes_) return;
  check_limit(bytes);
  if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) {
    const std::error_code code(errno, std::generic_category());
    throw Error(code, describe(fmt::format("growth to {} bytes", bytes), code));
  }
  bytes_ = bytes;
}

void StoreFile::check_limit(std::uint64_t end) const {
  // By asking, not by ignoring SIGXFSZ: what that does is the whole process's matter.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur) return;
  const std::error_code code = std::make_error_code(std::errc::file_too_large);
  throw Error(code, describe(fmt::format("writing up to byte {}", end), code));
}

void StoreFile::reserve(std::uint64_t bytes) {
  grow(bytes);
  if (::fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return;
  const std::error_code code(errno, std::generic_category());
  throw Error(code, describe(fmt::format("taking {} bytes for the tables", bytes), code));
}

void StoreFile::rename(std::string path, bool replace) {
  bool there = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, path.c_str(), replace ? 0 : RENAME_NOREPLACE) == 0;
  if (!there && (errno == EINVAL || errno == ENOSYS)) {
    // Not this file system: linking refuses an existing name too. A crash in between leaves the file with two names,
    // which has_its_name(true) tells.
    there = ::link(path_.c_str(), path.c_str()) == 0;
    if (there) ::unlink(path_.c_str());
  }
  if (!there) {
    const int error = errno;
    if (error == EEXIST)
      throw Error(std::error_code(error, std::generic_category()),
                  fmt::format("{} exists already; remove it, or ask for it to be replaced", path));
    throw_errno(error, fmt::format("{} can't be given its name {}", path_, path));
  }
  path_ = std::move(path);
}

Task<> StoreFile::read_all(std::byte* target, std::size_t bytes, std::uint64_t offset, const char* what) {
  return transfer_all(false, target, bytes, offset, what);
}

Task<> StoreFile::write_all(const std::byte* source, std::size_t bytes, std::uint64_t offset, const char* what) {
  check_limit(offset + bytes);
  return transfer_all(true, const_cast<std::byte*>(source), bytes, offset, what);
}

Task<> StoreFile::transfer_all(bool writing, std::byte* data, std::size_t bytes, std::uint64_t offset,
                               const char* what) {
  int tries = 0;
  for (std::size_t done = 0; done < bytes;) {
    std::size_t count = 0;
    try {
      if (writing)
        count = co_await io_->write(fd_, data + done, bytes - done, offset + done);
      else
        count = co_await io_->read(fd_, data + done, bytes - done, offset + done);
    } catch (const Error& error) {
      const std::string tried = fmt::format("{} {}", writing ? "writing" : "reading", what);
      throw Error(error.code(), describe(tried, error.code()));
    }
    const std::size_t next = progress(done + count);
    if (next > done) tries = 0;
    const auto code = std::make_error_code(std::errc::io_error);
    const bool stuck = next == done && ++tries > 3;
    if (writing && stuck)
      throw Error(code, describe(fmt::format("writing {} (only {} of {} bytes went)", what, done, bytes), code));
    if (!writing && (stuck || count == 0))
      throw Error(code, fmt::format("{} of {} ends after {} of {} bytes at {}: the file was cut short", what, path_,
                                    done + count, bytes, offset));
    done = next;
  }
}

Task<> StoreFile::sync() {
  try {
    co_await io_->sync(fd_);
  } catch (const Error& error) {
    throw Error(error.code(), describe("bringing what was written to the device", error.code()));
  }
}

Task<> StoreFile::sync_name() {
  const std::string folder = folder_of(path_);
  StoreFile name(*this, ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (name.fd_ < 0) throw_errno(errno, fmt::format("the folder {} of a new store can't be opened", folder));
  co_await name.sync();
}

}  // namespace coracle::internals::storage
