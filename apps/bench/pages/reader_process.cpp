// Starting one, and being one by mmap.
#include "apps/bench/pages/reader_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "apps/bench/pages/memory_group.hpp"
#include "apps/bench/pages/reader_protocol.hpp"
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

namespace {

/// Mapped twice: as it is, and with MADV_RANDOM. The process ends with it.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat found {};
    if (fd_ < 0 || ::fstat(fd_, &found) != 0) throw_errno(errno, fmt::format("can't open {}", path));
    bytes_ = static_cast<std::size_t>(found.st_size);
    for (std::byte*& way : ways_) {
      void* mapped = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd_, 0);
      if (mapped == MAP_FAILED) throw_errno(errno, fmt::format("can't map {}", path));
      way = static_cast<std::byte*>(mapped);
    }
    ::madvise(ways_[1], bytes_, MADV_RANDOM);
  }

  /// From these mappings and from the page cache.
  void drop() noexcept {
    for (std::byte* way : ways_) ::madvise(way, bytes_, MADV_DONTNEED);
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  }
  const std::byte* data(bool random_advice) const noexcept { return ways_[random_advice ? 1 : 0]; }

 private:
  int fd_;
  std::size_t bytes_ = 0;
  std::array<std::byte*, 2> ways_{};
};

}  // namespace

int read_by_mmap(std::span<const char* const> words) {
  MappedFile file(words.front());
  const bool cold = words.back() == std::string_view(kCold);
  file.drop();
  for (ReaderRequest request{}; receive(0, request);) {
    if (cold) file.drop();
    if (!send(0, load_on_threads(file.data(request.random_advice != 0), request))) return 1;
  }
  return 0;
}

}  // namespace coracle::internals::bench
