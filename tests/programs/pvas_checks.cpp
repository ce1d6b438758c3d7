// What ordinary programs do, tried inside a task. usage: pvas-checks NAME; status 0 when all is as in a process.
#include "pvas_checks.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

namespace {

thread_local int own_counter = 0;
volatile sig_atomic_t signals_seen = 0;
std::string program_path;

int status_of(pid_t pid) {
  int status = 0;
  REQUIRE_THAT(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void check_threads() {
  std::mutex mutex;
  long total = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) ++own_counter;
      const std::lock_guard lock(mutex);
      total += own_counter;
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE_THAT(total == 8000);
  REQUIRE_THAT(own_counter == 0);
}

void check_exceptions() {
  for (int i = 0; i < 100; ++i) {
    try {
      static_cast<void>(std::stoi("no number"));
      REQUIRE_THAT(false);
    } catch (const std::invalid_argument&) {
    }
  }
}

void check_dlopen() {
  void* const library = ::dlopen("libm.so.6", RTLD_NOW);
  REQUIRE_THAT(library != nullptr);
  const auto cosine = reinterpret_cast<double (*)(double)>(::dlsym(library, "cos"));
  REQUIRE_THAT(cosine != nullptr);
  REQUIRE_THAT(cosine(0.0) == 1.0);
  REQUIRE_THAT(::dlclose(library) == 0);
}

void check_popen() {
  for (int i = 0; i < 3; ++i) {
    std::FILE* const pipe = ::popen("echo from a child", "r");
    REQUIRE_THAT(pipe != nullptr);
    char line[64] = {};
    REQUIRE_THAT(std::fgets(line, sizeof(line), pipe) != nullptr);
    REQUIRE_THAT(std::string(line) == "from a child\n");
    REQUIRE_THAT(::pclose(pipe) == 0);
  }
}

void check_posix_spawn() {
  char* const arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("exit 9"), nullptr};
  pid_t pid = 0;
  REQUIRE_THAT(::posix_spawnp(&pid, "sh", nullptr, nullptr, arguments, environ) == 0);
  REQUIRE_THAT(status_of(pid) == 9);
}

/// A forked child has a copy of the space, in which its heap, its mappings and its threads work as before.
void check_fork() {
  int witness = 1;
  const pid_t pid = ::fork();
  REQUIRE_THAT(pid >= 0);
  if (pid == 0) {
    witness = 2;
    check_mappings();
    check_allocation();
    check_dlopen();
    ::_exit(witness == 2 ? 5 : 6);
  }
  REQUIRE_THAT(status_of(pid) == 5);
  REQUIRE_THAT(witness == 1);
}

void check_exec() {
  ::execl("/bin/sh", "sh", "-c", "exit 0", nullptr);
  REQUIRE_THAT(false);
}

void count_signal(int) {
  void* const place = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED || ::munmap(place, 4096) != 0) ::_exit(8);
  signals_seen = signals_seen + 1;
}

/// Handlers that map memory interrupt code that maps memory.
void check_signals() {
  struct sigaction action {};
  action.sa_handler = count_signal;
  action.sa_flags = SA_RESTART;
  REQUIRE_THAT(::sigaction(SIGUSR1, &action, nullptr) == 0);
  const pid_t self = ::getpid();
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    while (!stop.load()) {
      ::kill(self, SIGUSR1);
      ::usleep(20);
    }
  });
  check_mappings();
  stop.store(true);
  sender.join();
  REQUIRE_THAT(signals_seen > 0);
}

void check_identity() {
  REQUIRE_THAT(::getppid() != ::getpid());
  Dl_info info{};
  REQUIRE_THAT(::dladdr(reinterpret_cast<void*>(&check_identity), &info) != 0);
  REQUIRE_THAT(std::string(info.dli_fname) == program_path);
  rlimit limit{};
  REQUIRE_THAT(::getrlimit(RLIMIT_CORE, &limit) == 0);
  REQUIRE_THAT(limit.rlim_cur <= 1);
}

/// Restartable sequences belong to a thread of a process; libc registers them for each task anew.
void check_rseq() {
#ifdef RSEQ_SIG
  if (__rseq_size == 0) return;  // Switched off by the user or the kernel.
  const auto* area = reinterpret_cast<struct rseq*>(static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset);
  REQUIRE_THAT(static_cast<int>(*const_cast<const volatile __u32*>(&area->cpu_id)) >= 0);
#endif
}

[[gnu::noinline]] int deep(int depth) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? 0 : deep(depth - 1) + (frame[0] == static_cast<char>(depth) ? 1 : 0);
}

void check_stack() {
  REQUIRE_THAT(deep(6000) == 6000);
}

void check_standard_fds() {
  char line[32] = {};
  REQUIRE_THAT(std::fgets(line, sizeof(line), stdin) != nullptr);
  std::printf("out %s", line);
  std::fprintf(stderr, "err %s", line);
}

/// Descriptors 10 (kept) and 11 (close-on-exec) were opened by the root; 12 is open and not close-on-exec.
void check_descriptors() {
  REQUIRE_THAT(::fcntl(10, F_GETFD) == 0);
  REQUIRE_THAT(::fcntl(11, F_GETFD) < 0);
  REQUIRE_THAT(::fcntl(12, F_GETFD) == 0);
}

/// The root, in whose text the hook is, ends without a word; the address space stays.
void check_orphan() {
  const pid_t parent = ::getppid();
  std::fprintf(stderr, "ready\n");
  while (::getppid() == parent) ::usleep(1000);
  check_mappings();
  check_allocation();
  check_dlopen();
  std::printf("fine\n");
}

void touch_nothing() {
  volatile std::uintptr_t address = 8;  // Read at run time, so that no compiler sees the crash coming.
  *reinterpret_cast<volatile int*>(address) = 1;
}

void end_by_atexit() {
  std::atexit([] { ::_exit(42); });
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void()>> checks = {
      {"threads", check_threads},
      {"exceptions", check_exceptions},
      {"dlopen", check_dlopen},
      {"popen", check_popen},
      {"posix_spawn", check_posix_spawn},
      {"fork", check_fork},
      {"exec", check_exec},
      {"signals", check_signals},
      {"identity", check_identity},
      {"rseq", check_rseq},
      {"stack", check_stack},
      {"mappings", check_mappings},
      {"large_mappings", check_large_mappings},
      {"huge_pages", [] { check_huge_pages(true); }},
      {"small_pages", [] { check_huge_pages(false); }},
      {"brk", check_brk},
      {"brk_guard", check_brk_guard},
      {"allocation", check_allocation},
      {"system_v", check_system_v},
      {"uring", check_uring},
      {"standard_fds", check_standard_fds},
      {"descriptors", check_descriptors},
      {"atexit", end_by_atexit},
      {"orphan", check_orphan},
      {"sleep", [] { ::sleep(1000); }},
      {"abort", [] { std::abort(); }},
      {"segv", touch_nothing},
      {"overflow", [] { deep(1 << 30); }},
  };
  program_path = argv[0];
  const auto check = argc == 2 ? checks.find(argv[1]) : checks.end();
  if (check == checks.end()) {
    std::fprintf(stderr, "usage: pvas-checks NAME\n");
    return 99;
  }
  check->second();
  return 0;
}
