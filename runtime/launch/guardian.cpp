// The guardian's process, and the words it understands: a group, minus a group, 0 for the end.
#include "runtime/launch/guardian.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <set>

namespace coracle {
namespace {

/// Leaves the launcher's session and descriptors: nobody must wait for the end of a pipe because of the guardian.
int withdraw_to(int socket) {
  ::setsid();
  ::prctl(PR_SET_NAME, "coracle-guard");
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  constexpr int kSocket = 3;
  if (socket != kSocket) ::dup2(socket, kSocket);
  ::syscall(SYS_close_range, kSocket + 1, ~0U, 0);
  return kSocket;
}

[[noreturn]] void guard(int socket) {
  std::set<pid_t> groups;
  for (;;) {
    pid_t word = 0;
    const ssize_t bytes = ::recv(socket, &word, sizeof word, 0);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes != static_cast<ssize_t>(sizeof word)) break;  // the launcher is dead
    if (word == 0) ::_exit(0);
    if (word > 0)
      groups.insert(word);
    else
      groups.erase(-word);
  }
  for (const pid_t group : groups) ::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

Guardian::Guardian() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    guard(withdraw_to(ends[1]));
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

Guardian::~Guardian() {
  tell(0);
  if (socket_ >= 0) ::close(socket_);
  if (pid_ < 0) return;
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guardian::tell(pid_t word) const noexcept {
  // Whether it still lives or listens does not matter to the job.
  if (socket_ >= 0) ::send(socket_, &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace coracle
