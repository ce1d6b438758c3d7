// fork, exec, and files for the output.
#include "tests/cli/command.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/pvas/address_space.hpp"
#include "tests/places.hpp"

namespace {

using namespace std::chrono_literals;

/// Memory rather than a pipe: a pipe's end would be held open by whatever wrongly outlives the command.
int make_file() {
  const int fd = ::memfd_create("output", MFD_CLOEXEC);
  REQUIRE(fd >= 0);
  return fd;
}

std::string contents(int fd) {
  struct stat info {};
  ::fstat(fd, &info);
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t bytes = ::pread(fd, text.data(), text.size(), 0);
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

struct Stat {
  char state = 0;
  pid_t parent = 0;
};

Stat stat_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream rest(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  Stat stat;
  rest >> stat.state >> stat.parent;
  return stat;
}

pid_t find_guardian(pid_t pid) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto number = static_cast<pid_t>(std::atol(entry.path().filename().c_str()));
    if (number <= 0 || stat_of(number).parent != pid) continue;
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    if (name == "coracle-guard") return number;
  }
  return 0;
}

bool within(std::chrono::steady_clock::duration time, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::usleep(2000);
  }
  return true;
}

}  // namespace

Command::Command(const std::vector<std::string>& arguments, const std::vector<std::string>& environment, int input_fd)
    : output_fd_(make_file()), errors_fd_(make_file()) {
  const std::string program = coracle::internals::test::in_build("apps/coracle");
  std::vector<char*> pointers{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  pid_ = ::fork();
  REQUIRE(pid_ >= 0);
  if (pid_ != 0) return;
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);  // test runners ignore some
  for (const std::string& variable : environment) ::putenv(const_cast<char*>(variable.c_str()));
  ::dup2(input_fd >= 0 ? input_fd : ::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  // Appending, since ranks share the file's offset only with those who inherited the same open file.
  ::fcntl(output_fd_, F_SETFL, O_APPEND);
  ::fcntl(errors_fd_, F_SETFL, O_APPEND);
  ::dup2(output_fd_, STDOUT_FILENO);
  ::dup2(errors_fd_, STDERR_FILENO);
  ::execv(program.c_str(), pointers.data());
  ::_exit(127);
}

Command::~Command() {
  if (!ended_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(output_fd_);
  ::close(errors_fd_);
}

bool Command::try_wait() {
  int status = 0;
  if (!ended_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    ended_ = true;
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return ended_;
}

int Command::wait() {
  within(60s, [this] { return try_wait(); });
  return status_;
}

void Command::signal(int number) const {
  ::kill(pid_, number);
}

bool Command::says(const std::string& text) {
  const auto said = [&] { return errors().find(text) != std::string::npos; };
  return within(20s, [&] { return said() || try_wait(); }) && said();
}

std::string Command::output() const {
  return contents(output_fd_);
}

std::string Command::errors() const {
  return contents(errors_fd_);
}

std::vector<pid_t> Command::ranks() const {
  std::vector<pid_t> pids;
  const std::string text = errors();
  const std::string mark = " is process ";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1))
    pids.push_back(static_cast<pid_t>(std::atol(text.c_str() + at + mark.size())));
  return pids;
}

bool soon(const std::function<bool()>& condition) {
  return within(20s, condition);
}

std::string test_program(const std::string& name) {
  return coracle::internals::test::in_build("tests/programs/" + name);
}

bool exists(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

bool runs(pid_t pid) {
  const char state = state_of(pid);
  return state != 0 && state != 'Z' && state != 'X';
}

char state_of(pid_t pid) {
  return stat_of(pid).state;
}

pid_t parent_of(pid_t pid) {
  return stat_of(pid).parent;
}

pid_t guardian_of(pid_t pid) {
  pid_t guardian = 0;
  soon([&] { return (guardian = find_guardian(pid)) != 0; });
  return guardian;
}

std::vector<std::string> process_placements() {
  if (!coracle::internals::pvas::probe().available) return {"process"};
  return {"process", "pvas"};
}
