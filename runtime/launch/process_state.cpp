// Fields of /proc/PID/stat and /proc/PID/wchan.
#include "runtime/launch/process_state.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace coracle::internals {

ProcessState ProcessState::of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const std::size_t parenthesis = line.rfind(')');  // a program's name may hold some, too
  ProcessState state;
  if (parenthesis == std::string::npos) return state;
  std::istringstream fields(line.substr(parenthesis + 1));
  long skipped = 0;  // parent, group, session, terminal, its group
  fields >> state.letter >> skipped >> skipped >> skipped >> skipped >> skipped >> state.flags;
  return state;
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
