// vfork and exec, with an error pipe so that what fails after the fork is known here; and fields of /proc/PID/stat and
// /proc/PID/wchan.
#include "runtime/launch/processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/job/group_table.hpp"

extern char** environ;

namespace coracle::internals {
namespace {

/// What the child tells through the pipe: the step that failed, and errno.
struct Failure {
  enum Step : int { descriptors, affinity, exec } step;
  int error;
};

/// All that the child needs, made before the fork: it may not allocate.
struct ChildPlan {
  const SpawnOptions& options;
  const char* path;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  cpu_set_t cpus;
  sigset_t signal_mask;
  pid_t parent;
  int failure_pipe;
};

[[noreturn]] void fail(const ChildPlan& plan, Failure::Step step) {
  const Failure failure{step, errno};
  [[maybe_unused]] const ssize_t written = ::write(plan.failure_pipe, &failure, sizeof failure);
  ::_exit(127);
}

/// Puts the wanted descriptors to 0, 1, 2; those among them that stand in another's place are moved away first.
bool set_standard_descriptors(const SpawnOptions& options) {
  std::array<int, 3> sources{options.stdin_fd, options.stdout_fd, options.stderr_fd};
  for (int target = 0; target < 3; ++target) {
    int& source = sources[static_cast<std::size_t>(target)];
    if (source < 0 || source >= 3 || source == target) continue;
    source = ::fcntl(source, F_DUPFD_CLOEXEC, 3);
    if (source < 0) return false;
  }
  for (int target = 0; target < 3; ++target) {
    const int source = sources[static_cast<std::size_t>(target)];
    if (source >= 0 && source != target && ::dup2(source, target) < 0) return false;
    if (source == target && ::fcntl(target, F_SETFD, 0) < 0) return false;
  }
  for (const int fd : options.keep_fds)
    if (::fcntl(fd, F_SETFD, 0) < 0) return false;
  return true;
}

/// Between vfork and exec: the parent's memory is ours, and it waits.
[[noreturn]] void run_child(const ChildPlan& plan) {
  const SpawnOptions& options = plan.options;
  if (options.new_process_group) {
    ::setpgid(0, 0);
    group_table::add(options.group_table, ::getpid());
  }
  if (options.parent_death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, options.parent_death_signal);
    if (::getppid() != plan.parent) ::_exit(127);  // it died before the line above
  }
  if (!set_standard_descriptors(options)) fail(plan, Failure::descriptors);
  if (!options.cpus.empty() && ::sched_setaffinity(0, sizeof plan.cpus, &plan.cpus) != 0) fail(plan, Failure::affinity);
  if (!options.core_dumps) {
    rlimit limit{};
    ::getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = 0;
    ::setrlimit(RLIMIT_CORE, &limit);
  }
  // No handler of the parent may run here once signals are let through; what is ignored stays so, as by exec.
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL)
      ::signal(signal, SIG_DFL);
  }
  ::sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  ::execve(plan.path, plan.arguments.data(), plan.environment.data());
  fail(plan, Failure::exec);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

[[noreturn]] void throw_failure(const Failure& failure, const SpawnOptions& options, const std::string& path) {
  switch (failure.step) {
    case Failure::descriptors:
      throw_errno(failure.error, fmt::format("can't give {} its descriptors", path));
    case Failure::affinity:
      throw_errno(failure.error, fmt::format("can't pin {} to CPU {} (use --bind none)", path, options.cpus.front()));
    case Failure::exec:
      break;
  }
  if (failure.error == ENOEXEC)
    throw_errno(ENOEXEC, fmt::format("can't run {}: it is neither a program for this machine nor a script that starts "
                                     "with #!",
                                     path));
  if (failure.error == ENOENT)
    throw_errno(ENOENT,
                fmt::format("can't run {}: its interpreter (first line of a script, or ld.so) is missing", path));
  throw_errno(failure.error, fmt::format("can't run {}", path));
}

pid_t fork_and_exec(const ChildPlan& plan) {
  const pid_t pid = ::vfork();
  if (pid == 0) run_child(plan);
  return pid;
}

bool is_executable_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

/// Of a file in the format of /proc/PID/stat. Whoever watches a job reads hundreds of them a second.
ProcessState read_state(const std::string& path) {
  std::array<char, 1024> text;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : 0;
  return ProcessState::from({text.data(), got > 0 ? static_cast<std::size_t>(got) : 0});
}

}  // namespace

pid_t spawn_process(const SpawnOptions& options) {
  const std::string path = find_program(options.program);
  const std::vector<std::string> only_name{options.program};
  auto [reading, writing] = make_pipe("starting " + path);
  ChildPlan plan{options,
                 path.c_str(),
                 pointers(options.arguments.empty() ? only_name : options.arguments),
                 pointers(options.environment),
                 {},
                 {},
                 ::getpid(),
                 writing.get()};
  for (const int cpu : options.cpus) CPU_SET(static_cast<std::size_t>(cpu), &plan.cpus);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &plan.signal_mask);
  const pid_t pid = fork_and_exec(plan);
  const int fork_error = errno;
  ::sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  writing.close();
  Failure failure{};
  ssize_t bytes = 0;
  if (pid > 0) {
    while ((bytes = ::read(reading.get(), &failure, sizeof failure)) < 0 && errno == EINTR) {
    }
  }
  if (pid < 0) {
    const char* remedy = fork_error == EAGAIN ? " (too many processes: see ulimit -u, the pids control group)" : "";
    throw_errno(fork_error, fmt::format("can't start {}{}", path, remedy));
  }
  if (bytes == static_cast<ssize_t>(sizeof failure)) {
    group_table::remove(options.group_table, pid);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    throw_failure(failure, options, path);
  }
  return pid;
}

std::string find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    struct stat info {};
    if (::stat(program.c_str(), &info) != 0) throw_errno(errno, fmt::format("can't run {}", program));
    if (S_ISDIR(info.st_mode)) throw_errno(EISDIR, fmt::format("can't run {}", program));
    if (::access(program.c_str(), X_OK) != 0) throw_errno(errno, fmt::format("can't run {}", program));
    return program;
  }
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  while (!program.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    const std::string path = folder.empty() ? program : fmt::format("{}/{}", folder, program);
    if (is_executable_file(path)) return folder.empty() ? "./" + program : path;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  const char* hint = is_executable_file("./" + program) ? "; the one in this folder is ./" : "";
  throw Error(std::make_error_code(std::errc::no_such_file_or_directory),
              fmt::format("can't find the program '{}' in PATH{}{}", program, hint, hint[0] != '\0' ? program : ""));
}

InDirectory::InDirectory(const std::string& directory) {
  if (directory.empty()) return;
  former_ = FileDescriptor(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!former_) throw_errno(errno, "can't open the present folder");
  if (::chdir(directory.c_str()) != 0)
    throw_errno(errno, fmt::format("can't go to the folder {} of the ranks (--wdir)", directory));
}

InDirectory::~InDirectory() {
  // It was the present folder a moment ago, and is entered by its descriptor.
  [[maybe_unused]] const int status = former_ ? ::fchdir(former_.get()) : 0;
}

std::string find_program(const ProgramPart& part) {
  const InDirectory there(part.directory);
  return find_program(part.program);
}

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  return environment;
}

ProcessState ProcessState::from(std::string_view stat) noexcept {
  // As proc(5) numbers the fields.
  enum Field { state = 3, flag_bits = 9, user_ticks = 14, system_ticks = 15, resident_pages = 24, past_the_last };
  static const auto ticks_per_s = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  static const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t parenthesis = stat.rfind(')');  // a program's name may hold some, too
  ProcessState told;
  if (parenthesis == std::string_view::npos || stat.size() < parenthesis + 3) return told;
  stat.remove_prefix(parenthesis + 2);
  told.letter = stat.front();
  std::array<std::uint64_t, past_the_last> values{};
  for (std::size_t field = state; field < past_the_last && !stat.empty(); ++field) {
    const std::string_view word = stat.substr(0, stat.find(' '));
    std::from_chars(word.data(), word.data() + word.size(), values[field]);  // 0 for what is no number, or negative
    stat.remove_prefix(std::min(word.size() + 1, stat.size()));
  }
  told.flags = static_cast<std::uint32_t>(values[flag_bits]);
  told.processor_ms = (values[user_ticks] + values[system_ticks]) * 1000 / ticks_per_s;
  told.resident_bytes = values[resident_pages] * page_bytes;
  return told;
}

ProcessState ProcessState::of(pid_t pid) {
  return read_state(fmt::format("/proc/{}/stat", pid));
}

ProcessState ProcessState::of_thread(pid_t pid, pid_t thread) {
  return read_state(fmt::format("/proc/{}/task/{}/stat", pid, thread));
}

std::uint64_t processor_ns_of(pid_t pid, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/schedstat", pid, thread));
  std::uint64_t ran = 0;
  file >> ran;
  return ran;
}

bool ProcessState::is_ending() const noexcept {
  // Of linux/sched.h, and shown in /proc ever since; a process may be ending for long before it is a zombie.
  constexpr std::uint32_t kExiting = 0x4;
  constexpr std::uint32_t kSignaled = 0x400;
  return letter == 0 || letter == 'Z' || letter == 'X' || (flags & (kExiting | kSignaled)) != 0;
}

const char* ProcessState::text() const noexcept {
  switch (letter) {
    case 0:
      return "gone";
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "in an uninterruptible system call";
    case 'T':
    case 't':
      return "stopped";
    default:
      return "ending";
  }
}

std::string whereabouts(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/wchan", pid));
  std::string place;
  std::getline(file, place);
  const char* state = ProcessState::of(pid).text();
  return place.empty() || place == "0" ? state : fmt::format("{} (in the kernel's {})", state, place);
}

}  // namespace coracle::internals
