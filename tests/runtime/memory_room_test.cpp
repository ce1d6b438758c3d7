// How much memory there is, as the files of the kernel say it.
#include "runtime/job/memory_room.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/sanitized.hpp"

namespace memory_room_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// Files such as the kernel's, in a folder of their own.
class Files {
 public:
  Files() {
    std::string path = (std::filesystem::temp_directory_path() / "coracle-memory-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    folder_ = path;
    write("proc/self/statm", "1000 512 0 0 0 0 0\n");
    write("proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\nSwapFree: 0 kB\n");
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  MemoryRoom room() const { return memory_room({folder_ / "proc", folder_ / "cgroups"}); }
  std::string path(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

}  // namespace

TEST_CASE("memory room: what the machine has free, where nothing else limits it") {
  const Files files;
  const MemoryRoom room = files.room();
  CHECK(room.used_bytes == 512 * 4096);
  CHECK(room.free_bytes == 4096 * kMiB);
  CHECK(room.text() == "4.0 GiB (what this machine has free, with the 2 MiB that this process has already)");
  files.write("proc/meminfo", "MemAvailable: 1048576 kB\nSwapFree: 1048576 kB\n");
  CHECK(files.room().free_bytes == 2048 * kMiB);
}

TEST_CASE("memory room: the tightest control group of those that a process is in, less what its files hold") {
  const Files files;
  files.write("proc/self/cgroup", "0::/jobs/mine\n");
  files.write("cgroups/jobs/mine/memory.max", "max\n");
  files.write("cgroups/jobs/mine/memory.current", "1000000\n");
  CHECK(files.room().free_bytes == 4096 * kMiB);
  files.write("cgroups/jobs/memory.max", std::to_string(100 * kMiB) + "\n");
  files.write("cgroups/jobs/memory.current", std::to_string(90 * kMiB) + "\n");
  CHECK(files.room().free_bytes == 10 * kMiB);
  CHECK(files.room().limit == "what " + files.path("cgroups") + "/jobs/memory.max leaves");
  files.write("cgroups/jobs/memory.stat", "anon 5\nfile 9\ninactive_file 20971520\nactive_file 10485760\n");
  CHECK(files.room().free_bytes == 40 * kMiB);
  files.write("cgroups/jobs/memory.current", std::to_string(140 * kMiB) + "\n");  // over its limit
  CHECK(files.room().free_bytes == 0);
}

TEST_CASE("memory room: control groups of version 1, also where a container sees its own as the root") {
  const Files files;
  files.write("proc/self/cgroup", "5:devices:/\n4:memory:/outside/of/here\n0::/\n");
  files.write("cgroups/memory/memory.limit_in_bytes", std::to_string(200 * kMiB));
  files.write("cgroups/memory/memory.usage_in_bytes", std::to_string(50 * kMiB));
  CHECK(files.room().free_bytes == 150 * kMiB);
  files.write("cgroups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(files.room().free_bytes == 4096 * kMiB);
}

TEST_CASE("memory room: files that can't be read, or make no sense, limit nothing") {
  const Files files;
  files.write("proc/meminfo", "MemAvailable: many\n");
  files.write("proc/self/statm", "");
  files.write("proc/self/cgroup", "0::\nnonsense\n4:memory:/x\n");
  files.write("cgroups/memory/x/memory.limit_in_bytes", "99999999999999999999999999\n");
  const MemoryRoom room = files.room();
  CHECK(room.used_bytes == 0);
  CHECK(room.all_bytes() > 1ULL << 60);
}

TEST_CASE("memory room: the real one has room for a test, and ulimit -v counts") {
  const MemoryRoom real = memory_room();
  CHECK(real.used_bytes > 0);
  CHECK(real.free_bytes > 0);
  CHECK(MemoryUsed().bytes() > real.used_bytes / 2);
  if (test::kSanitized) return;  // its shadow is address space, too
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  rlimit limit = before;
  limit.rlim_cur = 64ULL << 40;
  REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
  CHECK(memory_room().free_bytes <= 64ULL << 40);
  limit.rlim_cur = 1;  // less than it has already: nothing more
  REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
  const MemoryRoom none = memory_room();
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(none.free_bytes == 0);
  CHECK(none.limit == "what `ulimit -v` leaves");
}

TEST_CASE("sizes are told in the unit that fits") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(kMiB) == "1 MiB");
  CHECK(bytes_text(3 << 29) == "1.5 GiB");
}

}  // namespace memory_room_test
