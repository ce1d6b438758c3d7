// The steps of NodeLauncher, with PMIx in place of the head.
#include "runtime/launch/pmix_launcher.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/launch/interfaces.hpp"
#include "runtime/launch/launcher.hpp"
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
  const int status = loop_.run([this](Scope& services) { return serve(services); });
  // The resource manager would say a lot; the reason has been told.
  if (failure_ || status != 0)
    client_->abort(status, "");
  else
    client_->finish();
  return status;
}

Task<int> PmixLauncher::serve(Scope& services) {
  supervisor_ = make_supervisor();
  services.spawn(share_->health().serve(loop_.io(), *supervisor_));
  if (options_.label) {
    catch_broken_pipes();
    standard_.serve(services, loop_.io());
  }
  share_->ranks().label_output(loop_.io(), services, standard_);
  const int status = co_await supervisor_->run(share_->ranks().start_all(*supervisor_, guardian_));
  share_->ranks().finish_output();
  standard_.finish();
  write_to_user(supervisor_->crash_details());
  // The job's status is that of the launcher that aborts first. A rank that exits with an error may do so because one
  // of another node has crashed, whose launcher is still writing the backtrace: so a mere exit waits, until the job is
  // ended from there.
  constexpr auto kPatience = std::chrono::seconds(3);
  if (!failure_ && status == 0)
    co_await wait_for_the_others();
  else if ((!failure_ || !failure_->crashed) && client_->size() > 1)
    co_await finishes_within(kPatience, loop_.asked_to_end(guardian_));
  co_return status;
}

std::unique_ptr<Supervisor> PmixLauncher::make_supervisor() {
  Supervisor::Options supervision = share_->ranks().supervision(guardian_);
  // The resource manager ends the launchers of a job that failed elsewhere by SIGTERM: nothing to be told then.
  supervision.failed = [this](const JobFailure& failure) {
    if (!failure.asked) say("{}", failure.text);
    failure_ = failure;
  };
  if (options_.verbose)
    say("node {} of {}: ranks {} to {} of {}, by PMIx, listening {}", client_->rank(), client_->size(),
        share_->ranks().region().first_rank(),
        share_->ranks().region().first_rank() + share_->ranks().region().ranks() - 1, program_names(options_),
        describe_listening(share_->card().record));
  return std::make_unique<Supervisor>(share_->ranks().region(), loop_, std::move(supervision));
}

/// Their ranks may still ask what has become of those of this node.
Task<> PmixLauncher::wait_for_the_others() {
  auto [reading, writing] = make_pipe("the end of the job");
  client_->fence_then_write(writing.release());  // open until the process ends: who knows when that is written to
  std::vector<Task<>> either;
  either.push_back(loop_.readable(reading.get()));
  either.push_back(loop_.asked_to_end(guardian_));
  co_await when_any(std::move(either));
}

}  // namespace coracle::internals
