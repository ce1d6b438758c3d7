// Both sides: who asks, and the process that reads (the hidden command `bench-mmap`).
#include "apps/coracle/bench/mmap_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "apps/coracle/bench/memory_group.hpp"
#include "apps/coracle/commands.hpp"
#include "runtime/error.hpp"

extern char** environ;  // NOLINT: of the C library

namespace coracle {
namespace bench {
namespace {

struct Request {
  MmapAdvice advice;
  std::uint64_t threads;
  LoadPlan plan;
};

/// False when the other side has gone.
template <class Message>
bool receive(int socket, Message& message) noexcept {
  ssize_t count;
  do count = ::recv(socket, &message, sizeof message, 0);
  while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(sizeof message);
}
template <class Message>
bool send(int socket, const Message& message) noexcept {
  return ::send(socket, &message, sizeof message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
}

/// Its end of the socket is its standard input.
pid_t start_reader(const std::string& file, const std::string& group, int socket) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, socket, 0);
  std::array<std::string, 5> words{"coracle", "bench-mmap", file, "--group", group};
  std::array<char*, 6> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw_errno(error, "can't start the process that reads by mmap");
  return pid;
}

// --- the process that reads ---

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat found {};
    if (fd_ < 0 || ::fstat(fd_, &found) != 0) throw_errno(errno, fmt::format("can't open {}", path));
    bytes_ = static_cast<std::size_t>(found.st_size);
    for (const MmapAdvice advice : {MmapAdvice::none, MmapAdvice::random}) {
      void* mapped = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd_, 0);
      if (mapped == MAP_FAILED) throw_errno(errno, fmt::format("can't map {}", path));
      ways_[static_cast<std::size_t>(advice)] = static_cast<std::byte*>(mapped);
    }
    ::madvise(ways_[1], bytes_, MADV_RANDOM);
    drop();
  }
  /// The process ends with it.
  ~MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// From these mappings and from the page cache.
  void drop() noexcept {
    for (std::byte* way : ways_) ::madvise(way, bytes_, MADV_DONTNEED);
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  }
  const std::byte* data(MmapAdvice advice) const noexcept { return ways_[static_cast<std::size_t>(advice)]; }

 private:
  int fd_;
  std::size_t bytes_ = 0;
  std::array<std::byte*, 2> ways_{};
};

std::uint64_t serve(const MappedFile& file, const Request& request) {
  std::vector<std::uint64_t> wrong(request.threads);
  std::vector<std::thread> threads;
  const std::byte* data = file.data(request.advice);
  for (std::uint64_t i = 0; i < request.threads; ++i) {
    LoadPlan plan = request.plan;
    plan.first += i;
    threads.emplace_back([data, plan, &own = wrong[i]] { own = load_pages(data, plan); });
  }
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    all += wrong[i];
  }
  return all;
}

int read_by_mmap(const std::string& path, const std::string& group) {
  if (!group.empty()) MemoryGroup::enter(group);
  MappedFile file(path);
  for (Request request{}; receive(0, request);) {
    if (group.empty()) file.drop();
    if (!send(0, serve(file, request))) return 1;
  }
  return 0;
}

}  // namespace

MmapReader::MmapReader(const std::string& file, const std::string& group) : file_(file) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_errno(errno, "socketpair");
  socket_ = ends[0];
  try {
    pid_ = start_reader(file, group, ends[1]);
  } catch (...) {
    for (const int end : ends) ::close(end);
    throw;
  }
  ::close(ends[1]);
}

MmapReader::~MmapReader() {
  ::close(socket_);  // then it ends
  ::waitpid(pid_, nullptr, 0);
}

void MmapReader::run(MmapAdvice advice, std::uint64_t threads, const LoadPlan& plan) {
  std::uint64_t wrong = 0;
  if (!send(socket_, Request{advice, threads, plan}) || !receive(socket_, wrong))
    throw Error(Errc::bad_input, fmt::format("the process that reads {} by mmap has ended", file_));
  if (wrong > 0) throw Error(Errc::bad_input, fmt::format("{} pages of {} are wrong, read by mmap", wrong, file_));
}

}  // namespace bench

void add_bench_mmap_command(CLI::App& app, int& status) {
  struct Words {
    std::string file;
    std::string group;
  };
  auto words = std::make_shared<Words>();
  CLI::App* command = app.add_subcommand("bench-mmap", "Reads a file by mmap; started by `coracle bench mapped`");
  command->group("");  // not shown
  command->add_option("file", words->file)->required();
  command->add_option("--group", words->group);
  command->callback([words, &status] { status = bench::read_by_mmap(words->file, words->group); });
}

}  // namespace coracle
