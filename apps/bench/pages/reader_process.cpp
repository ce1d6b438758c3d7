// Starting one, and being one by mmap. The kernel's control groups are folders with files to write to.
#include "apps/bench/pages/reader_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "apps/bench/pages/numbered_pages.hpp"
#include "runtime/core/error.hpp"
#include "runtime/launch/processes.hpp"

namespace coracle::internals::bench {

ReaderProcess::ReaderProcess(std::vector<std::string> words, const std::string& group) : name_(words[0]) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_errno(errno, "socketpair");
  socket_ = FileDescriptor(ends[0]);
  const FileDescriptor theirs(ends[1]);
  try {
    SpawnOptions spawn;
    spawn.program = words[0];
    spawn.arguments = std::move(words);
    spawn.environment = own_environment();
    spawn.stdin_fd = ends[1];
    pid_ = spawn_process(spawn);
    // It has read nothing yet: it waits for the first request.
    if (!group.empty()) MemoryGroup::enter(group, pid_);
  } catch (...) {
    end();
    throw;
  }
}

ReaderProcess::~ReaderProcess() {
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
  if (!send(socket_.get(), request) || !receive(socket_.get(), wrong))
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

namespace {

constexpr std::string_view kPrefix = "coracle-bench-";

struct Hierarchy {
  std::string own;     ///< The folder of this process's group.
  std::string parent;  ///< Where new groups go.
  bool unified;        ///< Version 2.
};

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(Errc::unsupported, fmt::format("no limit on memory can be set: {}", reason));
}

void put_word(const std::string& file, const std::string& word) {
  const FileDescriptor target(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!target || ::write(target.get(), word.data(), word.size()) < 0)
    refuse(fmt::format("writing {} to {}: {}", word, file, std::error_code(errno, std::generic_category()).message()));
}

bool is_folder(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

/// Among names with commas between them.
bool has_memory(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name == "memory") return true;
  return false;
}

/// A line of /proc/self/cgroup is "4:memory:/path"; in version 2 "0::/path".
Hierarchy find_hierarchy() {
  std::ifstream groups("/proc/self/cgroup");
  std::string unified_path;
  for (std::string line; std::getline(groups, line);) {
    std::istringstream parts(line);
    std::string number, controllers, path;
    std::getline(parts, number, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, path);
    if (has_memory(controllers)) {
      const std::string own = "/sys/fs/cgroup/memory" + path;
      if (is_folder(own)) return {own, own, false};
    }
    if (controllers.empty()) unified_path = path;
  }
  const std::string root = "/sys/fs/cgroup";
  if (unified_path.empty() || !is_folder(root + unified_path))
    refuse("this kernel has no control groups here, or they aren't mounted at /sys/fs/cgroup");
  const std::filesystem::path own = root + unified_path;
  const std::filesystem::path parent = unified_path == "/" ? own : own.parent_path();
  return {own, parent, true};
}

/// Those of processes that have died; a group with processes in it can't be removed.
void remove_left_behind(const std::string& parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (name.rfind(kPrefix, 0) != 0) continue;
    int pid = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), pid);
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) ::rmdir(entry.path().c_str());
  }
}

void set_limit(const Hierarchy& hierarchy, const std::string& folder, std::uint64_t bytes) {
  put_word(folder + (hierarchy.unified ? "/memory.max" : "/memory.limit_in_bytes"), std::to_string(bytes));
}

}  // namespace

MemoryGroup::MemoryGroup(const std::string& name, std::uint64_t limit_bytes) {
  const Hierarchy hierarchy = find_hierarchy();
  remove_left_behind(hierarchy.parent);
  if (hierarchy.unified) put_word(hierarchy.parent + "/cgroup.subtree_control", "+memory");
  folder_ = fmt::format("{}/{}{}-{}", hierarchy.parent, kPrefix, ::getpid(), name);
  if (::mkdir(folder_.c_str(), 0755) != 0)
    refuse(fmt::format("making {}: {}", folder_, std::error_code(errno, std::generic_category()).message()));
  try {
    set_limit(hierarchy, folder_, limit_bytes);
  } catch (...) {
    ::rmdir(folder_.c_str());
    throw;
  }
}

MemoryGroup::~MemoryGroup() {
  // Processes that have just ended leave it a moment later.
  for (int attempt = 0; attempt < 100 && ::rmdir(folder_.c_str()) != 0 && errno == EBUSY; ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

void MemoryGroup::enter(const std::string& folder, pid_t process) {
  put_word(folder + "/cgroup.procs", std::to_string(process));
}

std::uint64_t MemoryGroup::peak(const std::string& folder) {
  for (const char* name : {"/memory.max_usage_in_bytes", "/memory.peak"}) {
    std::ifstream file(folder + name);
    std::uint64_t bytes = 0;
    if (file >> bytes) return bytes;
  }
  refuse(fmt::format("{} does not say how much memory was used", folder));
}

MemoryGroup::Stay::Stay(const MemoryGroup& group) : before_(find_hierarchy().own) {
  enter(group.folder(), ::getpid());
}

MemoryGroup::Stay::~Stay() {
  try {
    enter(before_, ::getpid());
  } catch (const Error&) {
    // Then the group stays until this process has ended, and the next one removes it.
  }
}

}  // namespace coracle::internals::bench
