// Runs in the child between clone and the program. This file is compiled without stack protector, vector registers and
// instrumentation (see meson.build): the child has no TLS, and the memory outside its partition is the root's.
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>

#include "runtime/job/group_table.hpp"
#include "runtime/pvas/control.hpp"
#include "runtime/pvas/raw_syscall.hpp"

namespace coracle::internals::pvas {
namespace {

constexpr int kSetupFailed = 127;  // As the shell says it of a command that could not be started.
constexpr std::uint64_t kClearHandlers = 0x100000000ULL;  // CLONE_CLEAR_SIGHAND

struct KernelAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  unsigned long mask;
};

unsigned long length(const char* text) noexcept {
  unsigned long count = 0;
  while (text[count] != '\0') ++count;
  return count;
}

void say(const char* text) noexcept {
  raw_syscall(SYS_write, 2, word(text), length(text));
}

/// The root checked what it could before the clone; what fails here anyway ends the child as a failed exec would.
void require(long result, const char* step) noexcept {
  if (!failed(result)) return;
  char digits[8];
  int place = 7;
  digits[place] = '\0';
  for (long value = -result; value > 0 && place > 0; value /= 10) digits[--place] = static_cast<char>('0' + value % 10);
  say("coracle: cannot start a task: ");
  say(step);
  say(" failed with errno ");
  say(digits + place);
  say("\n");
  raw_syscall(SYS_exit_group, kSetupFailed);
}

void place_standard_fds(const StartOrders& orders) noexcept {
  int sources[3];
  // A source below 3 is moved out of the way first, so that no dup2 overwrites one that is still needed.
  for (int i = 0; i < 3; ++i) {
    sources[i] = orders.standard_fds[i];
    if (sources[i] < 0 || sources[i] > 2) continue;
    const long moved = raw_syscall(SYS_fcntl, sources[i], F_DUPFD_CLOEXEC, 3);
    require(moved, "duplicating a standard descriptor");
    sources[i] = static_cast<int>(moved);
  }
  for (int i = 0; i < 3; ++i) {
    if (sources[i] < 0) continue;
    require(raw_syscall(SYS_dup2, sources[i], i), "redirecting a standard descriptor");
    if (sources[i] != orders.standard_fds[i]) raw_syscall(SYS_close, sources[i]);
  }
}

void close_if_marked(int fd) noexcept {
  const long flags = raw_syscall(SYS_fcntl, fd, F_GETFD);
  if (!failed(flags) && (flags & FD_CLOEXEC) != 0) raw_syscall(SYS_close, fd);
}

/// What exec does: descriptors marked close-on-exec are closed, but for those that are to be kept. By asking for each
/// number: listing /proc/self/fd would make an inode for each.
void close_marked_fds(const StartOrders& orders) noexcept {
  for (std::uint64_t i = 0; i < orders.keep_count; ++i) raw_syscall(SYS_fcntl, orders.keep_fds[i], F_SETFD, 0);
  for (int fd = 0; fd < 3; ++fd) close_if_marked(fd);
  unsigned int first = 3;  // Nothing in [first, fd) is to stay.
  unsigned int fd = 3;
  for (unsigned int seen = 0; seen < orders.open_fds && fd < orders.fd_limit; ++fd) {
    const long flags = raw_syscall(SYS_fcntl, fd, F_GETFD);
    if (failed(flags)) continue;
    ++seen;
    if ((flags & FD_CLOEXEC) != 0) continue;
    if (first < fd) raw_syscall(SYS_close_range, first, fd - 1, 0);
    first = fd + 1;
  }
  if (first < fd) raw_syscall(SYS_close_range, first, fd - 1, 0);
}

void reset_handlers() noexcept {
  for (int signal = 1; signal <= 64; ++signal) {
    KernelAction action{};
    if (failed(raw_syscall(SYS_rt_sigaction, signal, 0L, word(&action), 8L))) continue;
    if (action.handler == reinterpret_cast<void*>(SIG_DFL) || action.handler == reinterpret_cast<void*>(SIG_IGN))
      continue;
    action = {};
    raw_syscall(SYS_rt_sigaction, signal, word(&action), 0L, 8L);
  }
}

void follow_parent_death(const StartOrders& orders) noexcept {
  raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, orders.parent_death_signal);
  // The parent may have died before the line above: then no signal will ever come, and this is it.
  if (raw_syscall(SYS_getppid) != orders.root_pid) {
    raw_syscall(SYS_kill, raw_syscall(SYS_getpid), orders.parent_death_signal);
  }
}

[[noreturn]] void jump(std::uint64_t entry, std::uint64_t stack_pointer) noexcept {
  const unsigned int mxcsr = 0x1f80;  // All exceptions masked, as exec leaves it.
  asm volatile(
      "fninit\n\t"
      "ldmxcsr %2\n\t"
      "mov %1, %%rsp\n\t"
      "xor %%ebp, %%ebp\n\t"
      "xor %%edx, %%edx\n\t"  // No function to register with atexit.
      "jmp *%0"
      :
      : "a"(entry), "b"(stack_pointer), "m"(mxcsr)
      : "memory");
  __builtin_unreachable();
}

}  // namespace

/// The child's whole life before its program; reached only from the assembly below.
extern "C" [[noreturn]] __attribute__((visibility("hidden"), used)) void coracle_pvas_child(Control* control) noexcept {
  const StartOrders& orders = control->start;
  if (orders.reset_handlers) reset_handlers();
  if (orders.new_process_group) {
    require(raw_syscall(SYS_setpgid, 0, 0), "making a process group");
    group_table::add(orders.group_table, static_cast<pid_t>(raw_syscall(SYS_getpid)));
  }
  if (orders.parent_death_signal != 0) follow_parent_death(orders);
  raw_syscall(SYS_prlimit64, 0, RLIMIT_DATA, word(orders.data_limit), 0L);
  if (!orders.core_dumps) {
    // With 0 a collector behind a pipe (systemd-coredump) would still be fed the whole space; 1 stops the kernel there
    // too.
    const std::uint64_t none[2] = {1, 1};
    raw_syscall(SYS_prlimit64, 0, RLIMIT_CORE, word(none), 0L);
  }
  if (orders.cpu_mask != nullptr) {
    require(raw_syscall(SYS_sched_setaffinity, 0, orders.cpu_mask_bytes, word(orders.cpu_mask)),
            "setting the affinity");
  }
  place_standard_fds(orders);
  close_marked_fds(orders);
  raw_syscall(SYS_prctl, PR_SET_NAME, word(orders.name));
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, word(&orders.signal_mask), 0L, 8L);
  jump(orders.entry, orders.stack_pointer);
}

namespace {

/// In the child: continues on the new stack in coracle_pvas_child(control). In the parent: returns the kernel's result.
long clone_onto(long number, long first, long second, std::uint64_t stack, Control* control) noexcept {
  long result;
  // clone takes its fourth argument (child TID) in r10 and its fifth (TLS) in r8; clone3 has none there. Both are 0: FS
  // is cleared by CLONE_SETTLS, so that nothing in the child can reach the root's TLS.
  asm volatile(
      "mov %[control], %%r12\n\t"
      "xor %%r10d, %%r10d\n\t"
      "xor %%r8d, %%r8d\n\t"
      "xor %%edx, %%edx\n\t"
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "mov %[stack], %%rsp\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r12, %%rdi\n\t"
      "call coracle_pvas_child\n\t"
      "1:"
      : "=a"(result)
      : "a"(number), "D"(first), "S"(second), [stack] "r"(stack), [control] "r"(control)
      : "rcx", "rdx", "r8", "r10", "r11", "r12", "memory");
  return result;
}

}  // namespace

long start_task(Control& control) noexcept {
  // The child works below its arguments, above which nothing is pushed any more.
  const std::uint64_t stack = (control.start.stack_pointer - 256) / 16 * 16;
  clone_args arguments{};
  arguments.flags = CLONE_VM | CLONE_SETTLS | kClearHandlers;
  arguments.exit_signal = SIGCHLD;
  arguments.stack = stack - 4096;
  arguments.stack_size = 4096;
  control.start.reset_handlers = false;
  const long pid = clone_onto(SYS_clone3, word(&arguments), CLONE_ARGS_SIZE_VER0, stack, &control);
  if (pid != -ENOSYS) return pid;
  control.start.reset_handlers = true;
  return clone_onto(SYS_clone, CLONE_VM | CLONE_SETTLS | SIGCHLD, static_cast<long>(stack), stack, &control);
}

}  // namespace coracle::internals::pvas
