// From a description to the end of a node's ranks.
#include "runtime/launch/node_launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/job/failure_record.hpp"
#include "runtime/launch/interfaces.hpp"
#include "runtime/launch/job_failure.hpp"
#include "runtime/launch/say.hpp"
#include "runtime/launch/summary_files.hpp"
#include "runtime/launch/trace_file.hpp"
#include "runtime/launch/trace_parts.hpp"

namespace coracle::internals {
namespace {

/// Above the standard ones, and not for those started here.
FileDescriptor moved_away(int fd) {
  FileDescriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy)
    throw_errno(errno,
                "`coracle node` is started by `coracle run`, with its control stream as standard input and output");
  return copy;
}

/// `source` becomes `target`.
void install(FileDescriptor source, int target) {
  if (source.get() == target)
    source.release();
  else
    ::dup2(source.get(), target);
}

}  // namespace

NodeLauncher::NodeLauncher(Standard standard)
    : standard_(standard), head_(moved_away(STDIN_FILENO), moved_away(STDOUT_FILENO)) {
  catch_broken_pipes();
  // Nobody may hold the stream's descriptors but this object, or its end would go unnoticed.
  const FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(null.get(), STDIN_FILENO);
  ::dup2(null.get(), STDOUT_FILENO);
}

NodeLauncher::~NodeLauncher() = default;

int NodeLauncher::run() {
  return loop_.run([this](Scope& services) { return serve(services); });
}

Task<int> NodeLauncher::serve(Scope& services) {
  services.spawn(head_.send_queued(loop_.io()));
  head_.send(ControlFrameType::hello, encode(JobHeader::kVersion));
  try {
    if (!co_await prepare_or_end()) co_return 1;
    supervisor_ = make_supervisor();
  } catch (const Error& error) {
    head_.send(ControlFrameType::refused, encode(std::string(error.what())));
  }
  if (supervisor_)
    co_await supervise(services);
  else
    services.spawn(obey_head(services));
  // Others may still ask what has become of the ranks, until the head has heard of all nodes' ends. Of a job that has
  // failed nobody asks for long, and a head that is out of reach does not come back.
  constexpr auto kPatience = std::chrono::seconds(60);
  const bool failed = !supervisor_ || (supervisor_->failures() > 0 && !description_->options.shape.network.survive);
  if (failed)
    co_await finishes_within(kPatience, let_go());
  else
    co_await let_go();
  co_return 0;
}

Task<bool> NodeLauncher::prepare_or_end() {
  std::vector<Task<bool>> either;
  either.push_back(prepare());
  either.push_back(told_to_end());
  const First<bool> first = co_await when_any(std::move(either));
  co_return first.value;
}

Task<bool> NodeLauncher::prepare() {
  const std::optional<ControlFrame> described = co_await expect(ControlFrameType::describe);
  if (!described) co_return false;
  description_ = std::make_unique<NodeDescription>(decode<NodeDescription>(described->payload));
  set_up_standard_files();
  take_environment();
  std::vector<NodeAddress> addresses = co_await find_addresses();
  if (addresses.empty()) co_return false;
  share_ = std::make_unique<NodeShare>(description_->options, description_->node, std::move(addresses));
  head_.send(ControlFrameType::card, encode(share_->card()));
  const bool is_sent_input = description_->remote && description_->options.input.who == InputReaders::Who::all;
  if (is_sent_input && !co_await take_input()) co_return false;
  const std::optional<ControlFrame> directory = co_await expect(ControlFrameType::directory);
  if (!directory) co_return false;
  share_->enter(decode<JobDirectory>(directory->payload));
  co_return true;
}

Task<bool> NodeLauncher::take_input() {
  InputCopy copy;
  for (;;) {
    const std::optional<ControlFrame> frame = co_await expect(ControlFrameType::input);
    if (!frame) co_return false;
    if (frame->payload.empty()) break;
    copy.add(frame->payload);
  }
  copy.install();
  co_return true;
}

/// Before there are ranks. Most signals are no order to end: that the guardian has died least of all.
Task<bool> NodeLauncher::told_to_end() {
  for (;;) {
    const int signal = co_await loop_.signal();
    if (asks_to_end(signal)) {
      const std::string who =
          description_ ? fmt::format("of node {} (pid {})", description_->node, ::getpid()) : "of a node";
      head_.send(ControlFrameType::failed,
                 encode(JobFailure{fmt::format("the launcher {} got {} before its ranks were started: ending the job",
                                               who, signal_name(signal)),
                                   128 + signal, false, true}));
      co_return false;
    }
    if (signal == SIGCHLD) guardian_.look();
    if (signal == SIGUSR1) say("no rank has been started yet");
    if (signal == SIGTSTP) ::raise(SIGSTOP);
  }
}

/// What comes before it is nothing to a node without ranks. Nothing: the head is gone.
Task<std::optional<ControlFrame>> NodeLauncher::expect(ControlFrameType type) {
  for (;;) {
    std::optional<ControlFrame> frame = co_await head_.next(loop_.io());
    if (!frame || frame->type == type) co_return frame;
    if (frame->type == ControlFrameType::clock) tell_time(*frame);
  }
}

Task<std::vector<NodeAddress>> NodeLauncher::find_addresses() {
  const std::string& wanted = description_->options.interface;
  if (!wanted.empty()) co_return std::vector{machine_address(wanted)};
  if (!description_->remote) co_return std::vector{loopback_address()};
  head_.send(ControlFrameType::interfaces, encode(machine_interfaces()));
  const std::optional<ControlFrame> frame = co_await expect(ControlFrameType::neighbours);
  if (!frame) co_return std::vector<NodeAddress>();
  const auto neighbours = decode<std::vector<NodeInterfaces>>(frame->payload);
  if (neighbours.size() != description_->options.shape.nodes)
    throw Error(Errc::bad_input, fmt::format("the networks of {} nodes in a job of {}", neighbours.size(),
                                             description_->options.shape.nodes));
  co_return listening_addresses(neighbours, description_->node, source_towards);
}

void NodeLauncher::set_up_standard_files() {
  if (standard_.output >= 0) {
    install(FileDescriptor(standard_.output), STDOUT_FILENO);
  } else {
    auto [reading, writing] = make_pipe("the ranks' output");
    install(std::move(writing), STDOUT_FILENO);
    output_ = std::make_unique<OutputForwarder>(std::move(reading), head_);
  }
  if (standard_.input >= 0) {
    install(FileDescriptor(standard_.input), STDIN_FILENO);
  } else if (reads_input()) {
    auto [reading, writing] = make_pipe("the ranks' input");
    install(std::move(reading), STDIN_FILENO);
    input_ = std::make_unique<InputForwarder>(std::move(writing), head_);
  }
}

/// Whether it is a rank of this node that reads what the head sends.
bool NodeLauncher::reads_input() const {
  const JobOptions& options = description_->options;
  return options.input.who == InputReaders::Who::one && node_of(options, options.input.rank) == description_->node;
}

/// As with srun, programs find the environment of the one who has started the job.
void NodeLauncher::take_environment() {
  if (!description_->remote) return;
  for (const std::string& variable : description_->environment) {
    const std::size_t equals = variable.find('=');
    if (equals != std::string::npos && equals > 0)
      ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  if (::chdir(description_->working_directory.c_str()) != 0)
    throw_errno(errno, fmt::format("can't change to the job's folder {}", description_->working_directory));
}

std::unique_ptr<Supervisor> NodeLauncher::make_supervisor() {
  Supervisor::Options supervision = share_->ranks().supervision(guardian_);
  supervision.failed = [this](const JobFailure& failure) {
    JobFailure told = failure;
    if (told.asked) told.text = fmt::format("the launcher of node {} got {}", description_->node, failure.text);
    head_.send(ControlFrameType::failed, encode(told));
  };
  supervision.unattached = [this](const RankProcess& process) {
    head_.send(ControlFrameType::unattached, encode(unattached_text(process)));
  };
  supervision.refused = [this](const std::string& reason) { head_.send(ControlFrameType::refused, encode(reason)); };
  return std::make_unique<Supervisor>(share_->ranks().region(), loop_, std::move(supervision));
}

Task<> NodeLauncher::supervise(Scope& services) {
  services.spawn(share_->health().serve(loop_.io(), *supervisor_));
  if (output_) services.spawn(output_->serve(loop_.io()));
  if (input_) services.spawn(input_->serve(loop_.io()));
  share_->ranks().label_output(loop_.io(), services, head_output_);
  co_await supervisor_->run(start_ranks(services));
  share_->ranks().finish_output();
  if (output_) output_->forward();  // the last of it
  co_await send_traces();
  co_await send_summaries();
  head_.send(ControlFrameType::ended,
             encode(NodeEnd{static_cast<std::uint32_t>(supervisor_->failures()), supervisor_->ranks().any_attached(),
                            supervisor_->crash_details()}));
}

Task<> NodeLauncher::start_ranks(Scope& services) {
  services.spawn(obey_head(services));  // first what has come along with the directory
  try {
    co_await share_->ranks().start_all(*supervisor_, guardian_);
  } catch (const Error& error) {
    if (error.code() == std::errc::operation_canceled) throw;
    supervisor_->refuse(error.what());
  }
}

/// Until someone wants this launcher to end, or the head is gone.
Task<> NodeLauncher::let_go() {
  std::vector<Task<>> either;
  either.push_back(as_task(Event::Wait(head_gone_)));
  either.push_back(loop_.asked_to_end(guardian_));
  co_await when_any(std::move(either));
}

Task<> NodeLauncher::obey_head(Scope& services) {
  while (const std::optional<ControlFrame> frame = co_await head_.next(loop_.io()))
    obey(*frame, services);  // NOLINT(bugprone-unchecked-optional-access): the loop's condition
  head_gone_.set();
  if (!supervisor_) co_return;
  supervisor_->abandon(1);
  supervisor_->abandon(1);
}

void NodeLauncher::obey(const ControlFrame& frame, Scope& services) {
  if (frame.type == ControlFrameType::input && input_) input_->push(frame.payload);
  if (frame.type == ControlFrameType::clock) return tell_time(frame);
  if (!supervisor_) return;
  switch (frame.type) {
    case ControlFrameType::end:
      return supervisor_->abandon(1);
    case ControlFrameType::kill:
      supervisor_->abandon(1);
      return supervisor_->abandon(1);
    case ControlFrameType::stop:
      return supervisor_->stop_all();
    case ControlFrameType::resume:
      return supervisor_->continue_all();
    case ControlFrameType::report:
      if (!std::exchange(reporting_, true)) services.spawn(report());
      return;
    case ControlFrameType::look:
      return services.spawn(tell_states({}));
    case ControlFrameType::locate:
      return services.spawn(tell_states(decode<std::vector<std::uint32_t>>(frame.payload)));
    case ControlFrameType::forget_times:
      return supervisor_->states().forget_times();
    case ControlFrameType::watch:
      if (!std::exchange(watching_, true)) services.spawn(tell_of_waits());
      return;
    default:
      return;
  }
}

void NodeLauncher::tell_time(const ControlFrame& question) {
  const auto number = decode<std::uint32_t>(question.payload);
  head_.send(ControlFrameType::time, encode(ClockAnswer{number, real_clock().now_ns()}));
}

Task<> NodeLauncher::send_traces() {
  const JobTrace trace = read_traces(share_->ranks().region());
  for (const RankEvents& rank : trace.ranks) {
    for (TracePart& part : parts_of(rank))
      if (!co_await send_in_turn(ControlFrameType::trace, encode(std::move(part)))) co_return;
  }
}

Task<> NodeLauncher::send_summaries() {
  const JobSummaries summaries = read_summaries(share_->ranks().region());
  for (const RankSummary& rank : summaries.ranks)
    if (!co_await send_in_turn(ControlFrameType::summary, bytes_of(rank))) co_return;
}

/// When what was sent before has left room. False: the head is gone.
Task<bool> NodeLauncher::send_in_turn(ControlFrameType type, std::vector<std::byte> payload) {
  constexpr std::size_t kQueuedMax = 8 << 20;
  while (head_.backlog() >= kQueuedMax && !head_.ended())
    co_await finishes_within(std::chrono::seconds(1), head_.room(kQueuedMax));
  if (head_.ended()) co_return false;
  head_.send(type, payload);
  co_return true;
}

Task<> NodeLauncher::report() {
  co_await supervisor_->report();
  reporting_ = false;
  head_.send(ControlFrameType::reported);
}

/// `located`: only where these are, without another look.
Task<> NodeLauncher::tell_states(std::vector<std::uint32_t> located) {
  std::vector<insight::RankState> states;
  if (located.empty())
    states = co_await supervisor_->states().look();
  else
    states = co_await supervisor_->states().locate(std::move(located));
  std::vector<std::byte> bytes = insight::encode(states);
  if (bytes.size() > FrameParser::kPayloadMax) bytes = insight::encode(std::vector<insight::RankState>());
  head_.send(ControlFrameType::states, bytes);
}

/// Somewhere a rank has ended without calling coracle::run: is there one that waits for it?
Task<> NodeLauncher::tell_of_waits() {
  while (!supervisor_->ranks().any_waits()) co_await sleep_for(std::chrono::milliseconds(200));
  head_.send(ControlFrameType::waits);
}

}  // namespace coracle::internals
