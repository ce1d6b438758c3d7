// Hundreds of tasks at once, limits that are met before they break something, and memory that comes back.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>

#include "pvas_fixture.hpp"
#include "runtime/pvas/mapping_budget.hpp"

namespace pvas_many_test {

using coracle::internals::SpawnOptions;
using coracle::internals::pvas::AddressSpace;
using coracle::internals::pvas::count_mappings;
using coracle::internals::pvas::Mode;
using coracle::internals::test::command;
using coracle::internals::test::error_of;
using coracle::internals::test::helper;
using coracle::internals::test::hex;

namespace {

std::size_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident;
}

/// Tasks that meet at a counter and live until release().
class Crowd {
 public:
  explicit Crowd(AddressSpace& space, int mappings = 0) : space_(space), mappings_(mappings) {
    REQUIRE(::pipe2(pipe_.data(), O_CLOEXEC) == 0);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    for (const int fd : pipe_) ::close(fd);
  }

  void add() {
    SpawnOptions options = command({helper("pvas-small"), "meet", hex(&arrived_)});
    if (mappings_ != 0) options.arguments.push_back(std::to_string(mappings_));
    options.stdin_fd = pipe_[0];
    pids_.push_back(space_.spawn(options));
  }

  void meet() const {
    while (arrived_.load() != static_cast<int>(pids_.size())) ::usleep(1000);
  }

  void release() {
    ::close(pipe_[1]);
    pipe_[1] = ::dup(pipe_[0]);
    for (const pid_t pid : pids_) CHECK(space_.wait(pid).ok());
  }

  std::size_t size() const { return pids_.size(); }

 private:
  AddressSpace& space_;
  int mappings_;  // of each, more than a small program has
  std::array<int, 2> pipe_{};
  std::atomic<int> arrived_{0};
  std::vector<pid_t> pids_;
};

}  // namespace

TEST_CASE("pvas: 240 tasks of /bin/ls run at once") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  SpawnOptions options = command({"/bin/ls", "-l", "/usr"});
  options.stdout_fd = nothing;
  std::vector<pid_t> pids;
  for (int i = 0; i < 240; ++i) pids.push_back(space.spawn(options));
  for (const pid_t pid : pids) CHECK(space.wait(pid).ok());
  ::close(nothing);
}

TEST_CASE("pvas: 1,000 tasks are alive at once, each with its own globals") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  Crowd crowd(space);
  const std::string failure = error_of([&] {
    while (crowd.size() < 1000) crowd.add();
  });
  if (!failure.empty()) MESSAGE("skipped at " << crowd.size() << ": " << failure);
  crowd.meet();
  crowd.release();
  CHECK((crowd.size() == 1000 || !failure.empty()));
  CHECK(space.task_count() == 0);
}

TEST_CASE("pvas: ended tasks leave neither mappings nor memory behind") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  if (space.mode() != Mode::patched) {
    MESSAGE("skipped: " << space.mode_reason());
    return;
  }
  const auto run_some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const char* const check =
          std::array{"uring", "large_mappings", "system_v", "dlopen", "brk"}[static_cast<unsigned>(i % 5)];
      CHECK(space.wait(space.spawn(command({helper("pvas-checks"), check}))).ok());
    }
  };
  run_some(20);
  const std::size_t mappings = count_mappings();
  const std::size_t pages = resident_pages();
  run_some(300);
  CHECK(count_mappings() <=
        mappings + 3);  // The root's own allocator may add one or two; 300 tasks would add thousands.
  CHECK(resident_pages() < pages + 300);
}

TEST_CASE("pvas: a task that is killed while it maps memory leaves nothing behind") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  if (space.mode() != Mode::patched) {
    MESSAGE("skipped: " << space.mode_reason());
    return;
  }
  const std::size_t mappings = count_mappings();
  for (int i = 0; i < 40; ++i) {
    const pid_t pid = space.spawn(command({helper("pvas-checks"), i % 2 == 0 ? "mappings" : "allocation"}));
    ::usleep(static_cast<useconds_t>(i * 137));
    ::kill(pid, SIGKILL);
    space.wait(pid);
  }
  CHECK(space.wait(space.spawn(command({helper("pvas-checks"), "mappings"}))).ok());
  CHECK(count_mappings() <= mappings + 3);
}

TEST_CASE("pvas: near vm.max_map_count a task is refused with the remedy, and the others go on") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create({.max_mappings = count_mappings() + 1000});
  Crowd crowd(space);
  const std::string failure = error_of([&] {
    while (crowd.size() < 200) {
      crowd.add();
      crowd.meet();
    }
  });
  CHECK(failure.find("sysctl vm.max_map_count=") != std::string::npos);
  CHECK(crowd.size() >= 1000 / coracle::internals::pvas::MappingBudget::kPerTask - 2);
  CHECK(count_mappings() < 200 + 1000);
  crowd.release();
  CHECK(space.wait(space.spawn(command({"/bin/true"}))).ok());  // Room again.
}

TEST_CASE(
    "pvas: many tasks of many libraries at once are refused before they fill vm.max_map_count, also in rlimit mode") {
  CORACLE_NEEDS_PVAS();
  for (const bool rlimit : {false, true}) {
    CAPTURE(rlimit);
    const std::size_t limit = count_mappings() + 6000;
    AddressSpace space = AddressSpace::create({.force_rlimit_mode = rlimit, .max_mappings = limit});
    Crowd crowd(space, 100);
    const std::string failure = error_of([&crowd] {
      while (crowd.size() < 400) crowd.add();
    });
    CHECK(failure.find("sysctl vm.max_map_count=") != std::string::npos);
    crowd.meet();
    CHECK(count_mappings() < limit);
    CHECK(crowd.size() >= 40);  // there is room for some 48
    crowd.release();
  }
}

TEST_CASE("pvas: more tasks than partitions are refused") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create({.max_tasks = 2});
  Crowd crowd(space);
  crowd.add();
  crowd.add();
  CHECK(error_of([&] { crowd.add(); }).find("all 2 partitions are in use") != std::string::npos);
  crowd.meet();
  crowd.release();
  CHECK(error_of([] { AddressSpace::create({.max_tasks = 1000000}); }).find("fewer tasks") != std::string::npos);
  CHECK(error_of([] { AddressSpace::create({.partition_bytes = 4096}); }).find("1 GiB") != std::string::npos);
}

TEST_CASE("pvas: too many processes are refused with the remedy, also for ordinary users") {
  CORACLE_NEEDS_PVAS();
  constexpr uid_t kNobody = 65534;
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can become a user without processes");
    return;
  }
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit{3, 3};
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0 || ::setrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(2);
    ::prctl(PR_SET_DUMPABLE, 1);  // setuid made /proc/self root's.
    AddressSpace space = AddressSpace::create();
    const std::string failure = error_of([&] {
      for (int i = 0; i < 20; ++i) space.spawn(command({"/bin/sleep", "100"}));
    });
    const std::size_t started = space.task_count();
    space.destroy();
    ::_exit(failure.find("ulimit -u") == std::string::npos ? 3 : started == 0 || started > 3 ? 4 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(coracle::internals::ExitStatus::from_wait(status).text() == "exit status 0");
}

}  // namespace pvas_many_test
