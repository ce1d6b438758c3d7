// From options to running ranks.
#include "runtime/launch/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/launch/cores.hpp"
#include "runtime/launch/mapping_check.hpp"
#include "runtime/launch/process_spawn.hpp"
#include "runtime/launch/say.hpp"
#include "runtime/pvas/address_space.hpp"

extern char** environ;

namespace coracle {
namespace {

bool has_process_per_rank(Placement placement) {
  return placement == Placement::pvas || placement == Placement::process;
}

/// Every rank holds a wake-up descriptor of every other; the usual limit of 1024 would leave large jobs none for files.
void allow_descriptors(std::uint32_t ranks) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, ranks + 1024);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void check(const JobOptions& options) {
  const JobShape& shape = options.shape;
  const auto bad = [](const std::string& what) { return Error(make_error_code(Errc::bad_input), what); };
  if (shape.size == 0) throw bad("a job needs at least one rank");
  if (shape.nodes == 0) throw bad("a job needs at least one node");
  if (shape.nodes > shape.size)
    throw bad(fmt::format("{} nodes for {} ranks: every node needs at least one rank", shape.nodes, shape.size));
  if (shape.segment_bytes == 0) throw bad("a segment needs at least one byte");
}

void check_pvas() {
  const pvas::Support support = pvas::probe();
  if (support.available) return;
  throw Error(make_error_code(Errc::unsupported),
              fmt::format("placement pvas is not available here: {}. Remedy: {}; --place process works without it",
                          support.reason, support.remedy));
}

JobOptions completed(JobOptions options, std::size_t cores) {
  check(options);
  if (options.shape.placement == Placement::pvas) check_pvas();
  options.shape.idle = IdlePolicy{};
  if (options.shape.size > cores) options.shape.idle.spins = 0;
  return options;
}

}  // namespace

/// What lives as long as the job: its memory, and how its processes are started.
class Launcher::Starter {
 public:
  Starter(const JobOptions& options, std::string program, const std::vector<std::vector<int>>& cores)
      : options_(options),
        program_(std::move(program)),
        cores_(cores),
        region_(JobRegion::create(options.shape, options.shape.placement == Placement::pvas
                                                     ? JobRegion::Backing::anonymous
                                                     : JobRegion::Backing::memfd)) {
    if (options.shape.placement == Placement::pvas) {
      pvas::Options space;
      space.max_tasks = static_cast<int>(options.shape.size);
      space_.emplace(pvas::AddressSpace::create(space));
    }
    null_fd_ = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd_ < 0) throw_errno(errno, "can't open /dev/null");
    // `sim` has one thread, which never waits for descriptors in place of virtual time.
    if (options.shape.placement != Placement::sim) make_event_fds();
  }
  ~Starter() {
    for (std::uint32_t rank = 0; rank < options_.shape.size; ++rank)
      if (const int fd = region_.block(rank).doorbell.event_fd; fd >= 0) ::close(fd);
    ::close(null_fd_);
  }
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;

  JobRegion& region() { return region_; }

  std::uint32_t processes() const { return has_process_per_rank(options_.shape.placement) ? options_.shape.size : 1; }
  std::uint32_t ranks_per_process() const { return options_.shape.size / processes(); }

  pid_t start(std::uint32_t rank) {
    const SpawnOptions options = describe(rank);
    return space_ ? space_->spawn(options) : spawn_process(options);
  }

  void reaped(pid_t pid) {
    if (space_) space_->reaped(pid);
  }

  std::string placement_text() const {
    if (!space_) return to_string(options_.shape.placement);
    return fmt::format("pvas ({})", space_->mode_reason());
  }

 private:
  void make_event_fds() {
    allow_descriptors(options_.shape.size);
    for (std::uint32_t rank = 0; rank < options_.shape.size; ++rank) {
      const int fd = ::eventfd(0, EFD_NONBLOCK);  // inherited: not close-on-exec
      if (fd < 0) {
        throw_errno(errno, fmt::format("can't make the wake-up descriptors of {} ranks (raise ulimit -Hn)",
                                       options_.shape.size));
      }
      region_.block(rank).doorbell.event_fd = fd;
    }
  }

  SpawnOptions describe(std::uint32_t rank) const {
    SpawnOptions spawn;
    spawn.program = program_;
    spawn.arguments.push_back(options_.program);
    spawn.arguments.insert(spawn.arguments.end(), options_.arguments.begin(), options_.arguments.end());
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view text(*variable);
      if (text.substr(0, 12) != "CORACLE_JOB=" && text.substr(0, 13) != "CORACLE_RANK=")
        spawn.environment.emplace_back(text);
    }
    spawn.environment.push_back(region_.environment());
    spawn.environment.push_back(fmt::format("CORACLE_RANK={}", rank));
    // A process group of its own must not read from the terminal: it would be stopped.
    spawn.stdin_fd = rank == 0 && ::isatty(STDIN_FILENO) == 0 ? -1 : null_fd_;
    if (region_.fd() >= 0) spawn.keep_fds.push_back(region_.fd());
    const bool pin = options_.binding == Binding::core && processes() > 1 && processes() <= cores_.size();
    if (pin) spawn.cpus = cores_[rank];
    spawn.new_process_group = true;
    spawn.parent_death_signal = SIGKILL;
    spawn.core_dumps = !space_;  // as the user's ulimit has it
    return spawn;
  }

  const JobOptions& options_;
  std::string program_;
  const std::vector<std::vector<int>>& cores_;
  JobRegion region_;
  std::optional<pvas::AddressSpace> space_;
  int null_fd_ = -1;
};

Launcher::Launcher(JobOptions options) : program_(find_program(options.program)), cores_(usable_cores()) {
  options_ = completed(std::move(options), cores_.size());
  starter_ = std::make_unique<Starter>(options_, program_, cores_);
}

Launcher::~Launcher() = default;

void Launcher::reaped(pid_t pid) {
  guardian_.remove(pid);
  starter_->reaped(pid);
}

int Launcher::run() {
  SignalPipe signals;
  Starter& starter = *starter_;
  Supervisor supervisor(starter.region(), signals, {program_, options_.timeout, [this](pid_t pid) { reaped(pid); }});
  const std::uint32_t processes = starter.processes();
  if (options_.verbose) {
    say("starting {} rank{} of {} on {} node{}, placement {}, {} usable core{}", options_.shape.size,
        options_.shape.size == 1 ? "" : "s", program_, options_.shape.nodes, options_.shape.nodes == 1 ? "" : "s",
        starter.placement_text(), cores_.size(), cores_.size() == 1 ? "" : "s");
  }
  const MappingCheck mappings;
  for (std::uint32_t rank = 0; rank < processes && supervisor.step(); ++rank) {
    try {
      if (rank == 1 && options_.shape.placement == Placement::pvas && !mappings.surely_fits(processes)) {
        mappings.check(processes, [&supervisor] { return !supervisor.step() || supervisor.anyone_attached(); });
      }
      const pid_t pid = starter.start(rank);
      guardian_.add(pid);
      supervisor.add(pid, rank, starter.ranks_per_process());
      if (options_.verbose) say("rank {} is process {}", rank, pid);
    } catch (const Error& error) {
      if (rank == 0) throw;
      say("rank {} of {} can't be started: {}", rank, processes, error.what());
      supervisor.abandon(1);
    }
  }
  const int status = supervisor.run();
  const bool used = supervisor.anyone_attached();
  if (status == 0 && !used && !has_process_per_rank(options_.shape.placement) && options_.shape.size > 1)
    say("{} does not use Coracle: with --place {} it ran once, as an ordinary program (--place process runs it {} "
        "times)",
        options_.program, to_string(options_.shape.placement), options_.shape.size);
  return status;
}

}  // namespace coracle
