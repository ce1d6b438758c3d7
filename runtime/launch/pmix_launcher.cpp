// The steps of NodeLauncher, with PMIx in place of the head.
#include "runtime/launch/pmix_launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/launch/interfaces.hpp"
#include "runtime/launch/launcher.hpp"
#include "runtime/launch/listening.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {

JobDirectory directory_from(PmixClient& client, std::uint32_t node) {
  JobDirectory directory;
  for (std::uint32_t each = 0; each < client.size(); ++each)
    directory.cards.push_back(decode<NodeCard>(client.fetch(each, kPmixCard)));
  share_machines(directory, node);
  return directory;
}

std::vector<NodeAddress> addresses_for(PmixClient& client, const std::string& interface) {
  if (!interface.empty()) return {machine_address(interface)};
  if (client.one_machine()) return {loopback_address()};
  client.publish(kPmixInterfaces, encode(machine_interfaces()));
  client.fence();
  std::vector<NodeInterfaces> nodes;
  for (std::uint32_t each = 0; each < client.size(); ++each)
    nodes.push_back(decode<NodeInterfaces>(client.fetch(each, kPmixInterfaces)));
  return listening_addresses(nodes, client.rank(), source_towards);
}

PmixLauncher::PmixLauncher(JobOptions options) : options_(std::move(options)), client_(PmixClient::connect()) {
  try {
    join();
  } catch (const Error& error) {
    say("{}", error.what());
    client_->abort(1, "");
    share_.reset();
  }
}

PmixLauncher::~PmixLauncher() = default;

namespace {

/// Resource managers bind a process to few cores, but this one is to start ranks on all. (Those that the machine's
/// control groups withhold stay so.)
void use_all_cores() noexcept {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  ::sched_setaffinity(0, sizeof all, &all);
}

}  // namespace

void PmixLauncher::join() {
  use_all_cores();
  options_.shape.nodes = client_->size();
  check(options_);
  agree(*client_, options_.shape);
  share_ = std::make_unique<NodeShare>(options_, client_->rank(), addresses_for(*client_, options_.interface));
  client_->publish(kPmixCard, encode(share_->card()));
  client_->fence();
  share_->enter(directory_from(*client_, client_->rank()));
}

int PmixLauncher::run() {
  if (!share_) return 1;  // the reason has been told
  const int status = supervise();
  if (failure_ || status != 0) {
    if (!failure_ || !failure_->crashed) let_crashes_be_told();
    // The resource manager would say a lot; the reason has been told.
    client_->abort(status, "");
    return status;
  }
  wait_for_the_others();
  client_->finish();
  return status;
}

/// The job's status is that of the launcher that aborts first. A rank that exits with an error may do so because one of
/// another node has crashed, whose launcher is still writing the backtrace: so a mere exit waits, until the job is
/// ended from there.
void PmixLauncher::let_crashes_be_told() {
  constexpr auto kPatience = std::chrono::seconds(3);
  if (client_->size() == 1) return;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (auto now = std::chrono::steady_clock::now(); now < until; now = std::chrono::steady_clock::now()) {
    pollfd set{signals_.fd(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
    if (::poll(&set, 1, static_cast<int>(left)) < 0 && errno != EINTR) return;
    while (const int signal = signals_.next())
      if (asks_to_end(signal)) return;
  }
}

int PmixLauncher::supervise() {
  Supervisor::Options supervision;
  supervision.program = share_->ranks().program();
  supervision.timeout = options_.timeout;
  supervision.reaped = [this](pid_t pid) {
    guardian_.remove(pid);
    share_->ranks().reaped(pid);
  };
  // The resource manager ends the launchers of a job that failed elsewhere by SIGTERM: nothing to be told then.
  supervision.failed = [this](const JobFailure& failure) {
    if (!failure.asked) say("{}", failure.text);
    failure_ = failure;
  };
  supervision.poll_handlers = {&share_->health()};
  supervisor_ = std::make_unique<Supervisor>(share_->ranks().region(), signals_, std::move(supervision));
  share_->health().set_source(*supervisor_);
  if (options_.verbose)
    say("node {} of {}: ranks {} to {} of {}, by PMIx, listening {}", client_->rank(), client_->size(),
        share_->ranks().region().first_rank(),
        share_->ranks().region().first_rank() + share_->ranks().region().ranks() - 1, options_.program,
        describe_listening(share_->card().record));
  share_->ranks().start_all(*supervisor_, guardian_, [this](const std::string& reason) {
    say("{}", reason);
    supervisor_->abandon(1);
  });
  const int status = supervisor_->run();
  write_to_user(supervisor_->crash_details());
  return status;
}

/// Their ranks may still ask what has become of those of this node.
void PmixLauncher::wait_for_the_others() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno(errno, "can't make a pipe");
  client_->fence_then_write(ends[1]);
  PollHandler* const health = &share_->health();
  for (bool all = false; !all;) {
    std::vector<pollfd> set{{ends[0], POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
    health->want(set);
    ::poll(set.data(), set.size(), -1);
    health->handle();
    all = (set[0].revents & POLLIN) != 0;
    while (const int signal = signals_.next()) {
      all |= asks_to_end(signal);
      if (signal == SIGCHLD) guardian_.look();
    }
  }
}

}  // namespace coracle::internals
