// Reaching a child's memory, also where a seccomp filter refuses the system calls for it: then through /proc.
#include "runtime/core/other_memory.hpp"

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>

namespace other_memory_test {

using namespace coracle::internals;

namespace {

/// `files`: and to open any.
bool forbid_calls(unsigned error, bool files = false) {
  const auto third = static_cast<std::uint32_t>(files ? SYS_openat : SYS_process_vm_readv);
  std::array<sock_filter, 6> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, third, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{filter.size(), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum Result : int { good, no_filters, refused, wrong_bytes, wrong_count, wrong_error };

/// With a child whose copy of `text` differs from ours from then on.
Result reach(pid_t child, std::array<char, 12>& text) {
  text.fill('.');
  std::array<char, 5> first{};
  std::array<char, 4> second{};
  const std::array<iovec, 3> here{{{first.data(), 5}, {nullptr, 0}, {second.data(), 4}}};
  // "tent" and "mountain"; there is more there than here.
  const std::array<iovec, 2> there{{{text.data() + 8, 4}, {text.data(), 8}}};
  const ssize_t read = read_other_memory(child, here, there);
  if (read < 0 && is_other_memory_refused(errno)) return refused;
  if (read != 9) return wrong_count;
  if (std::memcmp(first.data(), "tentm", 5) != 0 || std::memcmp(second.data(), "ount", 4) != 0) return wrong_bytes;

  std::array<char, 4> news{'c', 'a', 'm', 'p'};
  const iovec from{news.data(), 4};
  const iovec to{text.data() + 8, 4};
  if (write_other_memory(child, std::span(&from, 1), std::span(&to, 1)) != 4) return wrong_count;
  if (text[8] != '.') return wrong_bytes;
  const iovec back{second.data(), 4};
  if (read_other_memory(child, std::span(&back, 1), std::span(&to, 1)) != 4 || second != news) return wrong_bytes;

  const iovec nowhere{reinterpret_cast<void*>(8), 4};
  if (read_other_memory(child, std::span(&back, 1), std::span(&nowhere, 1)) != -1 || errno != EFAULT)
    return wrong_error;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (read_other_memory(child, std::span(&back, 1), std::span(&to, 1)) != -1 || errno != ESRCH) return wrong_error;
  return good;
}

Result with_child(unsigned error) {
  std::array<char, 12> text{'m', 'o', 'u', 'n', 't', 'a', 'i', 'n', 't', 'e', 'n', 't'};
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  const Result result = error != 0 && !forbid_calls(error) ? no_filters : reach(child, text);
  if (result != good) ::kill(child, SIGKILL);  // else it is dead
  return result;
}

}  // namespace

TEST_CASE("other memory: a child's is read and written, by the calls for it or without them") {
  for (const unsigned error : {0U, unsigned{EPERM}, unsigned{ENOSYS}}) {
    CAPTURE(error);
    std::fflush(nullptr);  // or the child might write it once more
    const pid_t child = ::fork();
    if (child == 0) ::_exit(with_child(error));
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == no_filters) {
      MESSAGE("skipped: the kernel takes no filter of system calls (seccomp)");
      return;
    }
    if (WEXITSTATUS(status) == refused) {
      MESSAGE("skipped: the kernel lets no process reach its child's memory");
      return;
    }
    CHECK(WEXITSTATUS(status) == good);
  }
}

TEST_CASE("other memory: whether processes reach each other's is known by trying") {
  const auto answer_of_child = [](bool forbidden) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      if (forbidden && !forbid_calls(EPERM, true)) ::_exit(no_filters);
      ::_exit(is_other_memory_in_reach() ? good : refused);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  };
  if (const int answer = answer_of_child(true); answer == no_filters)
    MESSAGE("skipped: the kernel takes no filter of system calls (seccomp)");
  else
    CHECK(answer == refused);
  // What the child may by that, it may indeed.
  if (answer_of_child(false) == refused) {
    MESSAGE("the kernel lets no process reach another's memory here");
    return;
  }
  std::array<std::byte, 3> text{std::byte{1}, std::byte{2}, std::byte{3}};
  permit_other_processes();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    std::array<std::byte, 3> there{};
    const auto address = reinterpret_cast<std::uint64_t>(text.data());
    const bool read = read_whole_from_other(::getppid(), address, there) == 0 && there == text;
    there[1] = std::byte{7};
    const bool written = write_whole_to_other(::getppid(), std::span(there).subspan(1), address + 1) == 0;
    const bool is_refused = read_whole_from_other(::getppid(), 8, there) == EFAULT;
    ::_exit(read && written && is_refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(text == std::array<std::byte, 3>{std::byte{1}, std::byte{7}, std::byte{3}});
}

}  // namespace other_memory_test
