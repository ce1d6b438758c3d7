// The root's book of tasks: which partition is whose, and what may still be spawned.
#include "runtime/pvas/address_space.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"
#include "runtime/pvas/control.hpp"
#include "runtime/pvas/mapping_budget.hpp"
#include "runtime/pvas/partition.hpp"
#include "runtime/pvas/places.hpp"
#include "runtime/pvas/raw_syscall.hpp"
#include "runtime/pvas/support.hpp"

namespace coracle::internals::pvas {
namespace {

/// Descriptors and CPUs are checked here, where an Error can still be thrown.
void check(const SpawnOptions& options) {
  std::vector<int> fds = options.keep_fds;
  for (const int fd : {options.stdin_fd, options.stdout_fd, options.stderr_fd}) {
    if (fd >= 0) fds.push_back(fd);
  }
  for (const int fd : fds) {
    if (::fcntl(fd, F_GETFD) < 0)
      throw_errno(errno, fmt::format("cannot give descriptor {} to {}", fd, options.program));
  }
  const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  for (const int cpu : options.cpus) {
    if (cpu < 0 || cpu >= cpus) {
      throw Error(
          make_error_code(Errc::bad_input),
          fmt::format("cannot pin {} to CPU {}: this machine has CPUs 0 to {}", options.program, cpu, cpus - 1));
    }
  }
}

/// Blocks every signal while it lives: none may be handled between clone and the child's reset of handlers.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    const std::uint64_t all = ~0ULL;
    raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, word(&all), word(&before_), 8L);
  }
  ~SignalsBlocked() { raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, word(&before_), 0L, 8L); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  std::uint64_t before() const noexcept { return before_; }

 private:
  std::uint64_t before_ = 0;
};

}  // namespace

/// The table of known files lies at a fixed address below the partitions: what is there says that this process (or the
/// one whose task it is) has an address space already.
class SharedSites {
 public:
  SharedSites() {
    try {
      map_exactly(kBegin, page_up(sizeof(SiteCache)), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
                  "tables");
    } catch (const Error& error) {
      if (error.code() != std::errc::file_exists) throw;
      throw Error(
          make_error_code(Errc::unsupported),
          "cannot make a shared address space: this process has one already, or is a task of one; use --place process");
    }
  }
  ~SharedSites() { unmap(kBegin, page_up(sizeof(SiteCache))); }
  SharedSites(const SharedSites&) = delete;
  SharedSites& operator=(const SharedSites&) = delete;
  SiteCache& get() const noexcept { return *reinterpret_cast<SiteCache*>(kBegin); }

 private:
  static constexpr std::uint64_t kBegin = kArenaBegin - kHugeBytes;
};

struct AddressSpace::State {
  struct Task {
    std::size_t slot;
    std::unique_ptr<Partition> partition;
  };

  State(const Options& wanted, const Arena& usable) : options(wanted), arena(usable) {}

  Options options;
  Arena arena;
  pid_t owner = ::getpid();
  std::vector<AuxEntry> auxiliary = own_auxiliary_vector();
  SharedSites sites;
  MappingBudget mappings{options.max_mappings};
  ProgramCache programs;
  std::unordered_map<pid_t, Task> tasks;
  std::vector<std::size_t> free_slots;  ///< The lowest last.
  Mode mode = Mode::rlimit;
  std::string mode_reason;

  /// Tasks that have not shown yet that all their libraries are mapped; without the hook none ever does.
  std::size_t starting() const noexcept {
    const auto is_starting = [](const auto& entry) { return entry.second.partition->is_starting(); };
    return static_cast<std::size_t>(std::count_if(tasks.begin(), tasks.end(), is_starting));
  }

  /// The slot to use next; it stays the last of the free ones until the task runs. Slots in which something of the root
  /// lies (an allocator with addresses of its own choice) are given up: taking a task back unmaps all of its slot.
  std::size_t next_slot(const std::string& program) {
    while (!free_slots.empty()) {
      const PartitionLayout layout = layout_of(free_slots.back());
      if (is_unmapped(layout.begin, layout.end)) return free_slots.back();
      free_slots.pop_back();
    }
    throw Error(
        std::make_error_code(std::errc::resource_unavailable_try_again),
        fmt::format("cannot run {}: all {} partitions are in use; wait for a task to end, or create the space with "
                    "a larger max_tasks",
                    program, tasks.size()));
  }

  PartitionLayout layout_of(std::size_t slot) const noexcept {
    const std::uint64_t begin = arena.begin + slot * options.partition_bytes;
    return {begin, begin + options.partition_bytes, arena};
  }
};

AddressSpace::AddressSpace(std::unique_ptr<State> state) : state_(std::move(state)) {}
AddressSpace::AddressSpace(AddressSpace&&) noexcept = default;
AddressSpace& AddressSpace::operator=(AddressSpace&& other) noexcept {
  if (this != &other) {
    destroy();
    state_ = std::move(other.state_);
  }
  return *this;
}
AddressSpace::~AddressSpace() {
  destroy();
}

AddressSpace AddressSpace::create(const Options& options) {
  const Support support = check_machine();
  if (!support.available) {
    throw Error(make_error_code(Errc::unsupported),
                fmt::format("cannot make a shared address space: {}; {}", support.reason, support.remedy));
  }
  if (options.partition_bytes < kPartitionBytesMin || options.partition_bytes > kPartitionBytesMax ||
      options.partition_bytes % kGiB != 0) {
    throw Error(
        make_error_code(Errc::bad_input),
        fmt::format("cannot make a shared address space: partitions of {} bytes; they must be a multiple of 1 GiB "
                    "between 4 and 512 GiB",
                    options.partition_bytes));
  }
  const Arena arena = usable_arena();
  const std::uint64_t slots = (arena.end - arena.begin) / options.partition_bytes;
  if (options.max_tasks < 0 || static_cast<std::uint64_t>(options.max_tasks) > slots) {
    throw Error(
        make_error_code(Errc::bad_input),
        fmt::format("cannot make a shared address space for {} tasks: {} partitions of {} GiB fit; ask for fewer "
                    "tasks or smaller partitions",
                    options.max_tasks, slots, options.partition_bytes / kGiB));
  }
  auto state = std::make_unique<State>(options, arena);
  for (std::size_t slot = options.max_tasks == 0 ? slots : static_cast<std::size_t>(options.max_tasks); slot > 0;
       --slot) {
    state->free_slots.push_back(slot - 1);
  }
  const ModeChoice choice = choose_mode(state->sites.get(), options.force_rlimit_mode);
  state->mode = choice.mode;
  state->mode_reason = choice.reason;
  return AddressSpace(std::move(state));
}

pid_t AddressSpace::spawn(const SpawnOptions& options) {
  CORACLE_ASSERT(state_ != nullptr, "the address space was destroyed or moved from");
  check(options);
  const ProgramLaunch launch = state_->programs.resolve(options);
  state_->mappings.admit(options.program, state_->tasks.size(), [this] { return state_->starting(); });
  const std::size_t slot = state_->next_slot(options.program);
  auto partition = std::make_unique<Partition>(state_->layout_of(slot),
                                               state_->mode == Mode::patched ? &state_->sites.get() : nullptr);
  partition->prepare(launch, options, state_->auxiliary);
  state_->tasks.reserve(state_->tasks.size() + 1);
  long pid;
  {
    const SignalsBlocked blocked;
    partition->control().start.signal_mask = blocked.before();
    pid = start_task(partition->control());
  }
  if (failed(pid)) {
    const char* remedy =
        pid == -EAGAIN ? " (too many processes: see ulimit -u, the pids control group, kernel.pid_max)" : "";
    throw_errno(static_cast<int>(-pid), fmt::format("cannot start {}{}", options.program, remedy));
  }
  state_->free_slots.pop_back();
  state_->tasks.emplace(static_cast<pid_t>(pid), State::Task{slot, std::move(partition)});
  return static_cast<pid_t>(pid);
}

bool AddressSpace::reaped(pid_t pid) {
  const auto found = state_->tasks.find(pid);
  if (found == state_->tasks.end()) return false;
  state_->free_slots.push_back(found->second.slot);
  state_->tasks.erase(found);
  return true;
}

bool AddressSpace::close_descriptors(pid_t pid) {
  const auto found = state_->tasks.find(pid);
  if (found == state_->tasks.end()) return false;
  found->second.partition->release_rings();
  return true;
}

ExitStatus AddressSpace::wait(pid_t pid) {
  CORACLE_ASSERT(contains(pid), "pid {} is no task of this address space", pid);
  int status = 0;
  pid_t got;
  do {
    got = ::waitpid(pid, &status, 0);
  } while (got < 0 && errno == EINTR);
  const int code = got < 0 ? errno : 0;
  // ECHILD: the task has ended, but its status went elsewhere (SIGCHLD is ignored, or another waitpid took it).
  if (code == 0 || code == ECHILD) reaped(pid);
  if (code != 0) throw_errno(code, fmt::format("cannot tell how task {} ended", pid));
  return ExitStatus::from_wait(status);
}

/// A task that the kernel does not end keeps the whole space: it may still be at work in its partition, and is no
/// reason to wait for ever.
void AddressSpace::destroy() {
  constexpr std::chrono::seconds kPatience(10);
  if (state_ == nullptr) return;
  bool all_ended = true;
  if (state_->owner == ::getpid()) {
    // Some may have been reaped by the owner, and their numbers be others' by now.
    for (const auto& [pid, task] : state_->tasks)
      if (!coracle::internals::wait_for_end(pid, std::chrono::nanoseconds(0))) ::kill(pid, SIGKILL);
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (const auto& [pid, task] : state_->tasks)
      all_ended &= coracle::internals::wait_for_end(pid, until - std::chrono::steady_clock::now()).has_value();
  }
  if (all_ended)
    state_.reset();
  else
    static_cast<void>(state_.release());  // NOLINT(bugprone-unused-return-value)
}

Mode AddressSpace::mode() const noexcept {
  return state_->mode;
}
const std::string& AddressSpace::mode_reason() const noexcept {
  return state_->mode_reason;
}
bool AddressSpace::contains(pid_t pid) const noexcept {
  return state_ != nullptr && state_->tasks.contains(pid);
}
std::size_t AddressSpace::task_count() const noexcept {
  return state_->tasks.size();
}

Support probe() {
  Support support = check_machine();
  if (!support.available) return support;
  const auto sites = std::make_unique<SiteCache>();
  const ModeChoice choice = choose_mode(*sites, false);
  support.mode = choice.mode;
  support.reason = choice.reason;
  if (choice.mode == Mode::rlimit)
    support.remedy = "allow changed program text (SELinux: execmod, execmem) for this program";
  return support;
}

}  // namespace coracle::internals::pvas
