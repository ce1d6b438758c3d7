// From a node's part of a job to running processes.
#include "runtime/launch/local_ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/other_memory.hpp"
#include "runtime/core/task.hpp"
#include "runtime/launch/job_options.hpp"
#include "runtime/launch/listeners.hpp"
#include "runtime/launch/mapping_check.hpp"
#include "runtime/launch/processes.hpp"
#include "runtime/launch/rank_environment.hpp"
#include "runtime/launch/say.hpp"
#include "runtime/pvas/mapping_budget.hpp"

namespace coracle::internals {
namespace {

/// Every rank holds a wake-up descriptor of every other, and its launcher a socket of each besides; the usual limit of
/// 1024 would leave large jobs none for files.
void allow_descriptors(std::uint32_t ranks) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, 2 * rlim_t{ranks} + 1024);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

JobRegion::Backing backing(Placement placement) {
  return placement == Placement::pvas ? JobRegion::Backing::anonymous : JobRegion::Backing::memfd;
}

/// Throws on an unknown value, so that a misspelt wish is not taken for none.
bool wants_huge_pages() {
  const char* variable = std::getenv("CORACLE_HUGE_PAGES");
  const std::string_view wanted = variable == nullptr ? "" : variable;
  if (wanted.empty() || wanted == "yes" || wanted == "no") return wanted != "no";
  throw Error(Errc::bad_input, fmt::format("CORACLE_HUGE_PAGES is \"{}\"; it may be yes (the default) or no", wanted));
}

/// Until the first rank of the job, process `first`, has mapped what its start needs, or `is_over`. One that has not
/// after 10 s is taken as it is.
Task<> watch_first(MappingCheck& mappings, pid_t first, const std::function<bool()>& is_over) {
  using namespace std::chrono_literals;
  using std::chrono::steady_clock;
  auto looked = steady_clock::now();
  const auto end = looked + 10s;
  while (!is_over() && looked < end) {
    co_await sleep_for(5ms);
    const auto now = steady_clock::now();
    const auto passed_ms =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now - looked).count());
    if (mappings.has_started(pvas::count_mappings(), ProcessState::of(first), passed_ms)) co_return;
    looked = now;
  }
  static_cast<void>(mappings.has_started(pvas::count_mappings(), ProcessState::of(first), 0));  // all up to now
}

}  // namespace

void check_pvas() {
  const pvas::Support support = pvas::probe();
  if (support.available) return;
  throw Error(make_error_code(Errc::unsupported),
              fmt::format("placement pvas is not available here: {}. Remedy: {}; --place process works without it",
                          support.reason, support.remedy));
}

LocalRanks::LocalRanks(const JobOptions& options, const NodePart& part)
    : options_(options),
      paths_(options.programs.size()),
      preloads_(options.programs.size()),
      cores_(usable_cores()),
      region_(JobRegion::create(options.shape, backing(options.shape.placement), part)),
      huge_pages_(wants_huge_pages()) {
  find_programs();
  set_share({0, region_.ranks()});
  if (options.shape.placement == Placement::pvas) {
    pvas::Options space;
    space.max_tasks = static_cast<int>(region_.ranks()) + 1;  // and the devices' owner
    pvas::AddressSpace& shared = space_.emplace(pvas::AddressSpace::create(space));
    device_owner_.emplace(
        region_, [this, &shared] { return start_device_owner(shared); }, [&shared](pid_t pid) { shared.reaped(pid); });
  }
  region_.header().kernel_copies = copies_by_kernel();
  null_fd_ = FileDescriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_fd_) throw_errno(errno, "can't open /dev/null");
  // `sim` has one thread, which never waits for descriptors in place of virtual time.
  if (options.shape.placement != Placement::sim) make_event_fds();
}

void LocalRanks::find_programs() {
  check_programs(options_);
  const std::uint32_t first = program_of(options_, region_.first_rank());
  const std::uint32_t last = program_of(options_, region_.first_rank() + region_.ranks() - 1);
  for (std::uint32_t program = first; program <= last; ++program) {
    const InDirectory there(options_.programs[program].directory);
    paths_[program] = find_program(options_.programs[program].program);
    readable_ = readable_ && ::access(paths_[program].c_str(), R_OK) == 0;  // the path may be relative
    preloads_[program] = mpi_.preload_for(paths_[program]);
  }
  if (first != last) libraries_.emplace();
}

/// Not from a program that its users may not read: so may nobody read its memory.
bool LocalRanks::copies_by_kernel() const {
  const JobShape& shape = options_.shape;
  if (shape.placement != Placement::process || shape.messages.scheme == RendezvousScheme::shm) return false;
  return readable_ && is_other_memory_in_reach();
}

LocalRanks::~LocalRanks() {
  for (std::uint32_t rank = region_.first_rank(); region_.is_local(rank); ++rank) {
    if (const int fd = region_.block(rank).doorbell.event_fd; fd >= 0) ::close(fd);
  }
}

std::uint32_t LocalRanks::processes() const noexcept {
  const Placement placement = options_.shape.placement;
  return placement == Placement::pvas || placement == Placement::process ? region_.ranks() : 1;
}

void LocalRanks::make_event_fds() {
  allow_descriptors(options_.label ? 2 * region_.ranks() : region_.ranks());
  for (std::uint32_t rank = region_.first_rank(); region_.is_local(rank); ++rank) {
    const int fd = ::eventfd(0, EFD_NONBLOCK);  // inherited: not close-on-exec
    if (fd < 0) {
      throw_errno(errno,
                  fmt::format("can't make the wake-up descriptors of {} ranks (raise ulimit -Hn)", region_.ranks()));
    }
    region_.block(rank).doorbell.event_fd = fd;
  }
}

void LocalRanks::listen_at(const NodeAddress& address) {
  for (std::uint32_t rank = region_.first_rank(); region_.is_local(rank); ++rank) {
    OpenSocket socket = open_listener(address);
    region_.block(rank).listen_fd = socket.fd.get();
    region_.port(rank) = socket.port;
    listeners_.push_back(std::move(socket.fd));
  }
}

void LocalRanks::set_share(const MachineShare& share) {
  share_ = share;
  IdlePolicy& idle = region_.header().shape.idle;
  idle = IdlePolicy{};
  if (share.ranks > cores_.size()) idle.spins = 0;
}

SpawnOptions LocalRanks::describe(std::uint32_t rank) const {
  SpawnOptions spawn;
  const ProgramPart& part = program(rank);
  spawn.program = paths_[program_of(options_, rank)];
  spawn.arguments.push_back(part.program);
  spawn.arguments.insert(spawn.arguments.end(), part.arguments.begin(), part.arguments.end());
  const LoaderWishes loader{mpi_.folder(), preloads_[program_of(options_, rank)]};
  spawn.environment = rank_environment(region_, rank, options_, loader);
  spawn.stdin_fd = input_of(rank);
  if (region_.fd() >= 0) spawn.keep_fds.push_back(region_.fd());
  if (libraries_) {
    spawn.keep_fds.push_back(libraries_->fd());
    spawn.environment.push_back(libraries_->environment());
  }
  for (std::uint32_t each = rank; each < rank + held(); ++each)
    if (region_.block(each).listen_fd >= 0) spawn.keep_fds.push_back(region_.block(each).listen_fd);
  // One process with all ranks of the machine needs no part of it.
  const bool wanted =
      options_.binding == Binding::share || (options_.binding == Binding::core && share_.ranks <= cores_.size());
  const bool pin = wanted && share_.ranks > held() && !cores_.empty();
  for (std::uint32_t i = 0; pin && i < held(); ++i) {
    const std::vector<int>& core = cores_[(share_.first + rank - region_.first_rank() + i) % cores_.size()];
    spawn.cpus.insert(spawn.cpus.end(), core.begin(), core.end());
  }
  spawn.new_process_group = true;
  spawn.parent_death_signal = SIGKILL;
  spawn.core_dumps = !space_;  // as the user's ulimit has it
  spawn.huge_pages = huge_pages_;
  return spawn;
}

int LocalRanks::input_of(std::uint32_t rank) const noexcept {
  const bool reads = options_.input.who == InputReaders::Who::one && options_.input.rank - rank < held();
  if (!reads) return null_fd_.get();
  if (input_fd_) return input_fd_.get();
  // A process group of its own must not read from the terminal: it would be stopped.
  return ::isatty(STDIN_FILENO) == 0 ? -1 : null_fd_.get();
}

void LocalRanks::open_files(std::uint32_t rank, RankFiles& files) {
  if (options_.input.who == InputReaders::Who::all) files.read_copy_of_input();
  if (!options_.output.empty())
    files.write_to(output_file(options_.output, rank, region_.header().node));
  else if (labelled_)
    files.write_to(labelled_->open(rank));
}

void LocalRanks::label_output(Io& io, Scope& services, OutputSink& sink) {
  if (options_.label) labelled_ = std::make_unique<LabelledOutput>(io, services, sink);
}

void LocalRanks::finish_output() {
  if (labelled_) labelled_->finish();
}

pid_t LocalRanks::start(std::uint32_t rank, const Guardian& guardian) {
  SpawnOptions options = describe(rank);
  options.group_table = guardian.table();
  RankFiles files(options);
  open_files(rank, files);
  const InDirectory there(program(rank).directory);
  const pid_t pid = space_ ? space_->spawn(options) : spawn_process(options);
  if (labelled_) labelled_->started(pid);
  // Only the rank's own copy may stay open: else who connects after its death would wait for an answer.
  const std::size_t first = rank - region_.first_rank();
  for (std::size_t i = first; i < std::min(first + held(), listeners_.size()); ++i) listeners_[i].close();
  return pid;
}

/// The same program, which tells by its environment what it is for. Free to use any core: the ranks have theirs.
pid_t LocalRanks::start_device_owner(pvas::AddressSpace& space) {
  SpawnOptions options = describe(region_.first_rank());
  options.environment.push_back(fmt::format("{}=1", DeviceOwnerRecord::kVariable));
  options.stdin_fd = null_fd_.get();
  options.keep_fds.clear();
  options.cpus.clear();
  const InDirectory there(program(region_.first_rank()).directory);
  return space.spawn(options);
}

Supervisor::Options LocalRanks::supervision(const Guardian& guardian) {
  Supervisor::Options options;
  options.programs = paths_;
  options.timeout = options_.timeout;
  options.stall = options_.stall;
  const bool is_alone = options_.shape.size == 1;  // to any MPI
  if (!is_alone && !one_process() && !mpi_.folder().empty()) options.mpi = &mpi_;
  options.reaped = [this, &guardian](pid_t pid) {
    guardian.remove(pid);
    reaped(pid);
  };
  return options;
}

Task<> LocalRanks::start_all(Supervisor& supervisor, Guardian& guardian) {
  supervisor.accompany(guardian);
  if (device_owner_) supervisor.accompany(*device_owner_);
  const std::uint32_t first = region_.first_rank();
  MappingCheck mappings = MappingCheck::of_this_process();
  pid_t first_pid = 0;
  for (std::uint32_t i = 0; i < processes(); ++i) {
    if (!co_await supervisor.may_start()) co_return;
    if (i == 1 && space_ && !mappings.surely_fits(processes())) {
      const auto is_over = [&supervisor] { return supervisor.ending() || supervisor.ranks().any_attached(); };
      co_await watch_first(mappings, first_pid, is_over);
      if (!co_await supervisor.may_start()) co_return;  // that has taken a while
    }
    try {
      mappings.refuse(processes());
      const pid_t pid = start(first + i, guardian);
      if (i == 0) first_pid = pid;
      supervisor.add(pid, first + i, held());
      if (options_.verbose) say("rank {} is process {}", first + i, pid);
    } catch (const Error& error) {
      if (i == 0) throw;
      supervisor.refuse(
          fmt::format("rank {} of {} can't be started: {}", first + i, options_.shape.size, error.what()));
    }
  }
}

void LocalRanks::reaped(pid_t pid) {
  if (labelled_) labelled_->ended(pid);
  if (!space_) return;
  if (!options_.shape.network.survive)
    space_->reaped(pid);
  else
    space_->close_descriptors(pid);  // peers that do not know of its loss yet may still read its memory
}

std::string LocalRanks::placement_text() const {
  if (!space_) return to_string(options_.shape.placement);
  return fmt::format("pvas ({})", space_->mode_reason());
}

}  // namespace coracle::internals
