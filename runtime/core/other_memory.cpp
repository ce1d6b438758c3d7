// process_vm_readv and _writev, and /proc/PID/mem.
#include "runtime/core/other_memory.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace coracle::internals {
namespace {

/// Goes through a list of runs piece by piece.
class RunsInOrder {
 public:
  explicit RunsInOrder(std::span<const iovec> runs) noexcept : runs_(runs) { skip_empty(); }
  bool done() const noexcept { return runs_.empty(); }
  std::byte* data() const noexcept { return static_cast<std::byte*>(runs_.front().iov_base) + offset_; }
  std::size_t left() const noexcept { return runs_.front().iov_len - offset_; }
  void advance(std::size_t bytes) noexcept {
    offset_ += bytes;
    skip_empty();
  }

 private:
  void skip_empty() noexcept {
    for (; !runs_.empty() && left() == 0; runs_ = runs_.subspan(1)) offset_ = 0;
  }

  std::span<const iovec> runs_;
  std::size_t offset_ = 0;
};

/// In the words of the calls that it stands in for.
int error_of_file(int error) noexcept {
  return error == EIO ? EFAULT : error == ENOENT ? ESRCH : error;
}

template <class Call>
ssize_t copy_by_file(int file, std::span<const iovec> runs_here, std::span<const iovec> runs_there,
                     Call call) noexcept {
  RunsInOrder here(runs_here);
  RunsInOrder there(runs_there);
  std::size_t moved = 0;
  while (!here.done() && !there.done()) {
    const std::size_t bytes = std::min(here.left(), there.left());
    const auto place = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(there.data()));
    const ssize_t now = call(file, here.data(), bytes, place);
    if (now <= 0) {
      if (moved > 0) break;
      errno = now == 0 ? ESRCH : error_of_file(errno);  // at the end of the file: the process has none any more
      return -1;
    }
    moved += static_cast<std::size_t>(now);
    here.advance(static_cast<std::size_t>(now));
    there.advance(static_cast<std::size_t>(now));
  }
  return static_cast<ssize_t>(moved);
}

/// After a call that was refused with `refusal`.
template <class Call>
ssize_t copy_through_file(pid_t pid, int flags, std::span<const iovec> here, std::span<const iovec> there, int refusal,
                          Call call) noexcept {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/mem", static_cast<int>(pid));
  const int file = ::open(path.data(), flags | O_CLOEXEC);
  if (file < 0) {
    errno = errno == EACCES || errno == EPERM ? refusal : error_of_file(errno);
    return -1;
  }
  const ssize_t moved = copy_by_file(file, here, there, call);
  const int error = errno;
  ::close(file);
  errno = error;
  return moved;
}

}  // namespace

bool is_other_memory_refused(int error) noexcept {
  return error == EPERM || error == ENOSYS;
}

void permit_other_processes() noexcept {
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

bool is_other_memory_in_reach() noexcept {
  const pid_t own = ::getpid();
  const char from = 1;
  permit_other_processes();
  const pid_t child = ::fork();
  if (child == 0) {
    char to = 0;
    const iovec here{&to, 1};
    const iovec there{const_cast<char*>(&from), 1};
    ::_exit(read_other_memory(own, std::span(&here, 1), std::span(&there, 1)) == 1 ? 0 : 1);
  }
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::prctl(PR_SET_PTRACER, 0, 0, 0, 0);
  return child > 0 && status == 0;
}

ssize_t read_other_memory(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) noexcept {
  const ssize_t moved = ::process_vm_readv(pid, here.data(), here.size(), there.data(), there.size(), 0);
  if (moved >= 0 || !is_other_memory_refused(errno)) return moved;
  return copy_through_file(pid, O_RDONLY, here, there, errno, ::pread);
}

ssize_t write_other_memory(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) noexcept {
  const ssize_t moved = ::process_vm_writev(pid, here.data(), here.size(), there.data(), there.size(), 0);
  if (moved >= 0 || !is_other_memory_refused(errno)) return moved;
  return copy_through_file(pid, O_WRONLY, here, there, errno, ::pwrite);
}

namespace {

template <class Call>
int copy_whole(Call call, pid_t pid, std::byte* here, std::uint64_t there, std::size_t bytes) noexcept {
  // The kernel may move less than was asked for; it says nothing more until the next call.
  for (std::size_t done = 0; done < bytes;) {
    const iovec local{here + done, bytes - done};
    const iovec remote{reinterpret_cast<void*>(there + done), bytes - done};
    const ssize_t moved = call(pid, std::span(&local, 1), std::span(&remote, 1));
    if (moved < 0) return errno;
    if (moved == 0) return EFAULT;
    done += static_cast<std::size_t>(moved);
  }
  return 0;
}

}  // namespace

int read_whole_from_other(pid_t pid, std::uint64_t there, std::span<std::byte> target) noexcept {
  return copy_whole(read_other_memory, pid, target.data(), there, target.size());
}

int write_whole_to_other(pid_t pid, std::span<const std::byte> source, std::uint64_t there) noexcept {
  auto* const here = const_cast<std::byte*>(source.data());  // an iovec knows no const
  return copy_whole(write_other_memory, pid, here, there, source.size());
}

}  // namespace coracle::internals
