// System calls with the path in their complaints.
#include "apps/common/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

namespace coracle {
namespace {

constexpr std::size_t kTransferMax = std::size_t{1} << 30;  // of one system call

const char* remedy(int code) {
  switch (code) {
    case ENOENT:
      return "give the path of a file in a folder that exists";
    case EEXIST:
      return "choose another name, or replace it by --force";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a file that you may use";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "make room, or choose another file system";
    default:
      return "see whether the file and its device are sound";
  }
}

[[noreturn]] void fail(int code, std::string_view what, const std::string& path) {
  throw_errno(code, fmt::format("can't {} {} ({})", what, path, remedy(code)));
}

}  // namespace

File::File(std::string path, int flags)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), flags | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail(errno, (flags & O_CREAT) != 0 ? "create" : "open", path_);
}

File File::open(const std::string& path) {
  return {path, O_RDONLY};
}

File File::create(const std::string& path, bool replace) {
  return {path, O_RDWR | O_CREAT | (replace ? O_TRUNC : O_EXCL)};
}

File File::open_to_write(const std::string& path) {
  return {path, O_RDWR | O_NOFOLLOW};
}

File::File(File&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t File::bytes() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail(errno, "look at", path_);
  if (!S_ISREG(status.st_mode))
    throw Error(Errc::bad_input, fmt::format("{} is no regular file; copy what it gives into one", path_));
  return static_cast<std::uint64_t>(status.st_size);
}

void File::reserve(std::uint64_t bytes) const {
  if (bytes == 0) return;
  const int failure = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
  if (failure != 0 && failure != EOPNOTSUPP && failure != EINVAL)
    fail(failure, fmt::format("take {} bytes for", bytes), path_);
}

Task<> read_fully(Io& io, const File& file, std::uint64_t offset, std::byte* target, std::size_t bytes) {
  while (bytes > 0) {
    const std::size_t got = co_await io.read(file.descriptor(), target, std::min(bytes, kTransferMax), offset);
    if (got == 0)
      throw Error(Errc::bad_input, fmt::format("{} ends at byte {}, {} bytes early; leave it alone while it is read",
                                               file.path(), offset, bytes));
    target += got;
    offset += got;
    bytes -= got;
  }
}

Task<> write_fully(Io& io, const File& file, std::uint64_t offset, const std::byte* source, std::size_t bytes) {
  while (bytes > 0) {
    const std::size_t done = co_await io.write(file.descriptor(), source, std::min(bytes, kTransferMax), offset);
    if (done == 0) fail(ENOSPC, "write", file.path());
    source += done;
    offset += done;
    bytes -= done;
  }
}

void check_writable(const std::string& path) {
  const int made = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (made >= 0) {
    ::close(made);
    ::unlink(path.c_str());
    return;
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> old(std::fopen(path.c_str(), "ae"), &std::fclose);
  if (!old) fail(errno, "create", path);
}

void write_whole(std::string_view bytes, const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "we"), &std::fclose);
  if (!file) fail(errno, "create", path);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  // Some file systems say only here that there is no room.
  if (!written || std::fclose(file.release()) != 0) fail(errno, "write", path);
}

std::string read_whole(const std::string& path, std::size_t gib_max, std::string_view wanted,
                       std::string_view too_large) {
  const auto refuse = [&path](const std::string& problem, const std::string& what_to_do) {
    throw Error(Errc::bad_input, fmt::format("{}: {}; {}", path, problem, what_to_do));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (!file) refuse(std::strerror(errno), fmt::format("give the path of {}", wanted));
  std::string bytes;
  std::string chunk(std::size_t{1} << 16, '\0');
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    bytes.append(chunk, 0, got);
    if (bytes.starts_with("\x1f\x8b")) refuse("is compressed by gzip", "unpack it first with gunzip");
    if (bytes.size() > gib_max << 30) refuse(fmt::format("is larger than {} GiB", gib_max), std::string(too_large));
  }
  if (std::ferror(file.get()) != 0) refuse(std::strerror(errno), fmt::format("give the path of {}", wanted));
  return bytes;
}

}  // namespace coracle
