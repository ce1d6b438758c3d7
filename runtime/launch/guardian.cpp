// The guardian's process, and the memory in which it finds what to kill.
#include "runtime/launch/guardian.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "runtime/job/group_table.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {

namespace {

/// One bit for every number that a process can have, in memory that both share. Unlike words in a socket it can't be
/// full, however late the guardian gets to run, and is whole at whatever moment the launcher is killed. Of zeros, which
/// take no memory until they are written to. Null: there is none.
std::uint64_t* make_table() noexcept {
  constexpr std::size_t kBytes = group_table::kWords * sizeof(std::uint64_t);
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::uint64_t*>(memory);
}

void kill_groups(const std::uint64_t* table) noexcept {
  for (std::size_t i = 0; i < group_table::kWords; ++i)
    for (std::uint64_t left = table[i]; left != 0; left &= left - 1) {
      const std::size_t number = i * group_table::kBits + static_cast<std::size_t>(std::countr_zero(left));
      ::kill(-static_cast<pid_t>(number), SIGKILL);
    }
}

/// Leaves the launcher's session and descriptors: nobody must wait for the end of a pipe because of the guardian.
int withdraw_to(int socket) {
  ::setsid();
  // Resource managers signal all processes of a job that is to end: the launcher's to obey.
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) ::signal(number, SIG_IGN);
  ::prctl(PR_SET_NAME, "coracle-guard");
  // One that somebody has stopped has its work to do, too. (Should the launcher be dead already, it isn't stopped yet.)
  ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGCONT));
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  constexpr int kSocket = 3;
  if (socket != kSocket) ::dup2(socket, kSocket);
  ::syscall(SYS_close_range, kSocket + 1, ~0U, 0);
  return kSocket;
}

/// Returns when the other end has been closed: nothing is ever sent.
void wait_for_close(int socket) {
  char byte = 0;
  while (::recv(socket, &byte, sizeof byte, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

Guardian::Guardian() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  table_ = make_table();
  if (table_ != nullptr) pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    wait_for_close(withdraw_to(ends[1]));
    kill_groups(table_);
    ::_exit(0);
  }
  ::close(ends[1]);
  socket_ = FileDescriptor(ends[0]);
}

Guardian::~Guardian() {
  // Killed, and before it could see the socket close: an orderly end leaves nothing to do, and a request would have to
  // wait for one that is stopped. The number is still its own, since every reaper tells ended().
  constexpr auto kPatience = std::chrono::seconds(5);
  if (pid_ > 0 && ::kill(pid_, SIGKILL) == 0) wait_for_end(pid_, kPatience);
  if (table_ != nullptr) ::munmap(table_, group_table::kWords * sizeof(std::uint64_t));
}

void Guardian::add(pid_t group) const noexcept {
  group_table::add(table_, group);
}

void Guardian::remove(pid_t group) const noexcept {
  group_table::remove(table_, group);
}

void Guardian::look() {
  if (pid_ <= 0) return;
  if (const auto status = wait_for_end(pid_, std::chrono::nanoseconds(0))) ended(pid_, *status);
}

bool Guardian::ended(pid_t pid, const ExitStatus& status) {
  if (pid != pid_) return false;
  pid_ = -1;
  say("the guardian of this launcher (pid {}) has ended ({}); the job goes on, but if its launcher is killed by kill "
      "-9 too, what ranks have started themselves may be left running",
      pid, status.text());
  return true;
}

}  // namespace coracle::internals
