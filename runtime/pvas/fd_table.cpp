// Newer kernels count open descriptors for a stat of /proc/self/fd; all tell the table's size in /proc/self/status,
// which is slower to read.
#include "runtime/pvas/fd_table.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace coracle::internals::pvas {
namespace {

constexpr rlim_t kWithoutProcMax = 65536;

/// Slots in the descriptor table; every open descriptor is below.
unsigned int table_size() {
  std::array<char, 2048> text{};  // FDSize is among the first lines.
  const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t got = ::read(fd, text.data(), text.size() - 1);
    ::close(fd);
    const char* const line = got > 0 ? std::strstr(text.data(), "\nFDSize:") : nullptr;
    const unsigned long size = line != nullptr ? std::strtoul(line + std::strlen("\nFDSize:"), nullptr, 10) : 0;
    if (size > 0) return static_cast<unsigned int>(size);
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<unsigned int>(std::min(limit.rlim_cur, kWithoutProcMax));
}

}  // namespace

OpenFds open_fds() {
  struct stat status {};
  if (::stat("/proc/self/fd", &status) != 0 || status.st_size == 0) return {~0U, table_size()};  // Before Linux 6.2.
  auto count = static_cast<unsigned int>(status.st_size);
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) >= 0) --count;
  }
  return {count, ~0U};
}

}  // namespace coracle::internals::pvas
