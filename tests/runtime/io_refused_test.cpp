// Io where io_uring is refused: as in default containers, in a child process whose seccomp filter forbids it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/task.hpp"

namespace io_refused_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

bool forbid_io_uring(unsigned error) {
  std::array<sock_filter, 4> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{filter.size(), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

Task<> read_zeros(Io& io, int fd, char& byte, std::size_t& count) {
  count = co_await io.read(fd, &byte, 1, kNoOffset);
}

constexpr int kNoFilters = 1;  ///< Nothing can be forbidden here.

/// The number of the first thing that went wrong, 0: nothing.
int without_io_uring(unsigned error) {
  if (!forbid_io_uring(error)) return kNoFilters;
  const IoSupport support = probe_io();
  if (support.available || support.remedy.empty()) return 2;
  const std::string why = std::error_code(static_cast<int>(error), std::generic_category()).message();
  if (support.reason.find(why) == std::string::npos) return 3;
  EventLoop loop;
  if (std::string(loop.io().name()) != "epoll and threads") return 4;
  const int fd = ::open("/dev/zero", O_RDONLY);
  char byte = 1;
  std::size_t count = 0;
  loop.run(read_zeros(loop.io(), fd, byte, count));
  if (count != 1 || byte != 0) return 5;
  ::setenv("CORACLE_IO", "io_uring", 1);
  try {
    make_io(loop.doorbell());
    return 6;
  } catch (const Error& refused) {
    return std::string(refused.what()).find(support.remedy) == std::string::npos ? 7 : 0;
  }
}

}  // namespace

TEST_CASE("io: where the kernel refuses io_uring the fallback serves, and the reason is told") {
  for (const unsigned error : {unsigned{EPERM}, unsigned{ENOSYS}}) {
    CAPTURE(error);
    std::fflush(nullptr);  // or the child might write it once more
    const pid_t child = ::fork();
    if (child == 0) ::_exit(without_io_uring(error));
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == kNoFilters) {
      MESSAGE("skipped: the kernel takes no filter of system calls (seccomp)");
      return;
    }
    CHECK(WEXITSTATUS(status) == 0);
  }
}

TEST_CASE("io: the environment chooses the back end, and a misspelt choice is an error") {
  EventLoop loop;
  ::setenv("CORACLE_IO", "epoll", 1);
  CHECK(std::string(loop.io().name()) == "epoll and threads");
  CHECK(!probe_io().available);
  ::setenv("CORACLE_IO", "uring", 1);
  CHECK_THROWS_AS(probe_io(), Error);
  CHECK_THROWS_AS(make_io(loop.doorbell()), Error);
  ::unsetenv("CORACLE_IO");
}

}  // namespace io_refused_test
