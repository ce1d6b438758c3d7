#include "apps/bench/pages/reader_process.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "apps/bench/pages/memory_group.hpp"
#include "runtime/core/error.hpp"

extern char** environ;  // NOLINT: of the C library

namespace coracle::internals::bench {
namespace {

pid_t start(std::vector<std::string>& words, int socket) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, socket, 0);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw_errno(error, fmt::format("can't start {}", words[0]));
  return pid;
}

}  // namespace

ReaderProcess::ReaderProcess(std::vector<std::string> words, const std::string& group) : name_(words[0]) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_errno(errno, "socketpair");
  socket_ = ends[0];
  try {
    pid_ = start(words, ends[1]);
    // It has read nothing yet: it waits for the first request.
    if (!group.empty()) MemoryGroup::enter(group, pid_);
  } catch (...) {
    for (const int end : ends) ::close(end);
    end();
    throw;
  }
  ::close(ends[1]);
}

ReaderProcess::~ReaderProcess() {
  ::close(socket_);
  end();
}

/// It has nothing to leave behind, and one that is stopped would not see the socket close.
void ReaderProcess::end() const {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void ReaderProcess::run(const ReaderRequest& request) {
  std::uint64_t wrong = 0;
  if (!send(socket_, request) || !receive(socket_, wrong))
    throw Error(Errc::bad_input, fmt::format("the process {} that reads a file has ended", name_));
  if (wrong > 0) throw Error(Errc::bad_input, fmt::format("{} pages are wrong, read by the process {}", wrong, name_));
}

}  // namespace coracle::internals::bench
