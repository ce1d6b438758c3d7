// All descriptors are close-on-exec: a rank gets only those that are meant for it.
#include "runtime/launch/rank_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

bool is_file(int fd) noexcept {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

void write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_errno(errno, "can't keep a copy of standard input for all ranks");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::string output_file(const std::string& pattern, std::uint32_t rank, std::uint32_t node) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      name += pattern[i];
      continue;
    }
    const std::string_view word = std::string_view(pattern).substr(i, 2);
    if (word == "%r")
      name += std::to_string(rank);
    else if (word == "%n")
      name += std::to_string(node);
    else if (word == "%%")
      name += '%';
    else
      throw Error(Errc::bad_input, fmt::format("{} in a file's name: there are %r (rank), %n (node) and %%", word));
    ++i;
  }
  return name;
}

InputCopy::InputCopy() : file_(::memfd_create("coracle-input", MFD_CLOEXEC)) {
  if (!file_) throw_errno(errno, "can't make a copy of standard input for all ranks");
}

void InputCopy::add(std::span<const std::byte> bytes) {
  write_whole(file_.get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void InputCopy::install() {
  ::lseek(file_.get(), 0, SEEK_SET);
  ::dup2(file_.get(), STDIN_FILENO);
}

void spool_input() {
  if (is_file(STDIN_FILENO)) return;
  InputCopy copy;
  std::array<std::byte, 65536> buffer;
  for (;;) {
    const ssize_t bytes = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) throw_errno(errno, "can't read standard input for all ranks (--stdin all)");
    if (bytes == 0) break;
    copy.add(std::span(buffer).first(static_cast<std::size_t>(bytes)));
  }
  copy.install();
}

int RankFiles::keep(int fd) {
  opened_.emplace_back(fd);
  return fd;
}

void RankFiles::read_copy_of_input() {
  // Opened anew it has a place of its own.
  const int fd = keep(::open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC));
  if (fd < 0) throw_errno(errno, "can't open standard input once more, for each rank (--stdin all)");
  ::lseek(fd, ::lseek(STDIN_FILENO, 0, SEEK_CUR), SEEK_SET);
  spawn_.stdin_fd = fd;
}

void RankFiles::write_to(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;  // shows when the file is opened
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  // Both streams go to its end, as do those of the rank's children.
  const int fd = keep(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  if (fd < 0) throw_errno(errno, fmt::format("can't write a rank's output to {} (--output)", path));
  spawn_.stdout_fd = fd;
  spawn_.stderr_fd = fd;
}

void RankFiles::write_to(std::array<FileDescriptor, 2> streams) {
  spawn_.stdout_fd = keep(streams[0].release());
  spawn_.stderr_fd = keep(streams[1].release());
}

}  // namespace coracle::internals
