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

#include "runtime/core/error.hpp"
#include "runtime/job/crash_report.hpp"
#include "runtime/launch/interfaces.hpp"
#include "runtime/launch/listening.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {
namespace {

/// Above the standard ones, and not for those started here.
int moved_away(int fd) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0)
    throw_errno(errno,
                "`coracle node` is started by `coracle run`, with its control stream as standard input and output");
  return copy;
}

/// `fd` becomes `target`.
void install(int fd, int target) {
  if (fd == target) return;
  ::dup2(fd, target);
  ::close(fd);
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno(errno, "can't make a pipe for the ranks' input or output");
  return ends;
}

}  // namespace

NodeLauncher::NodeLauncher(Standard standard)
    : standard_(standard), head_(moved_away(STDIN_FILENO), moved_away(STDOUT_FILENO)) {
  catch_broken_pipes();
  // Nobody may hold the stream's descriptors but this object, or its end would go unnoticed.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::close(null);
}

NodeLauncher::~NodeLauncher() = default;

void NodeLauncher::want(std::vector<pollfd>& set) const {
  head_.want(set);
}

void NodeLauncher::handle() {
  head_.flush();
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the condition is the check
  while (std::optional<ControlFrame> frame = head_.receive()) obey(*frame);
  if (supervisor_ && head_.ended() && !head_lost_) {
    head_lost_ = true;
    supervisor_->abandon(1);
    supervisor_->abandon(1);
  }
  if (supervisor_) tell_unattached();
}

std::vector<PollHandler*> NodeLauncher::poll_handlers() {
  std::vector<PollHandler*> all{this, &share_->health()};
  if (output_) all.push_back(output_.get());
  if (input_) all.push_back(input_.get());
  return all;
}

/// True once `there` is; false when the head is gone, or somebody wants this launcher to end: nothing has been started.
bool NodeLauncher::await(const std::function<bool()>& there) {
  PollHandler* const self = this;
  while (!there() && !head_.ended()) {
    wait_for(signals_.fd(), {&self, 1}, -1);
    if (asked_to_end()) return false;
    handle();
  }
  return there();
}

/// Before there are ranks. Most signals are no order to end: that the guardian has died least of all.
bool NodeLauncher::asked_to_end() {
  while (const int signal = signals_.next()) {
    if (asks_to_end(signal)) {
      const std::string who =
          description_ ? fmt::format("of node {} (pid {})", description_->node, ::getpid()) : "of a node";
      head_.send(ControlFrameType::failed,
                 encode(JobFailure{fmt::format("the launcher {} got {} before its ranks were started: ending the job",
                                               who, signal_name(signal)),
                                   128 + signal, false, true}));
      return true;
    }
    if (signal == SIGCHLD) guardian_.look();
    if (signal == SIGUSR1) say("no rank has been started yet");
    if (signal == SIGTSTP) ::raise(SIGSTOP);
  }
  return false;
}

std::vector<NodeAddress> NodeLauncher::find_addresses() {
  const std::string& wanted = description_->options.interface;
  if (!wanted.empty()) return {machine_address(wanted)};
  if (!description_->remote) return {loopback_address()};
  head_.send(ControlFrameType::interfaces, encode(machine_interfaces()));
  if (!await([this] { return !neighbours_.empty(); })) return {};
  return listening_addresses(neighbours_, description_->node, source_towards);
}

void NodeLauncher::set_up_standard_files() {
  if (standard_.output >= 0) {
    install(standard_.output, STDOUT_FILENO);
  } else {
    const auto ends = make_pipe();
    install(ends[1], STDOUT_FILENO);
    output_ = std::make_unique<OutputForwarder>(ends[0], head_);
  }
  if (standard_.input >= 0) {
    install(standard_.input, STDIN_FILENO);
  } else if (description_->node == 0) {
    const auto ends = make_pipe();
    install(ends[0], STDIN_FILENO);
    input_ = std::make_unique<InputForwarder>(ends[1], head_);
  }
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

int NodeLauncher::run() {
  head_.send(ControlFrameType::hello, encode(JobHeader::kVersion));
  try {
    if (!await([this] { return description_ != nullptr; })) return 1;
    set_up_standard_files();
    take_environment();
    std::vector<NodeAddress> addresses = find_addresses();
    if (addresses.empty()) return 1;
    share_ = std::make_unique<NodeShare>(description_->options, description_->node, std::move(addresses));
    head_.send(ControlFrameType::card, encode(share_->card()));
    if (!await([this] { return directory_ != nullptr; })) return 1;
    share_->enter(*directory_);
    start();
  } catch (const Error& error) {
    head_.send(ControlFrameType::refused, encode(std::string(error.what())));
  }
  if (supervisor_) {
    supervisor_->run();
    for (PollHandler* each : poll_handlers()) each->handle();  // the last of the output
    head_.send(ControlFrameType::ended, encode(NodeEnd{static_cast<std::uint32_t>(supervisor_->failures()),
                                                       supervisor_->anyone_attached(), supervisor_->crash_details()}));
  }
  serve_until_the_end();
  return 0;
}

void NodeLauncher::start() {
  Supervisor::Options supervision;
  supervision.program = share_->ranks().program();
  supervision.reaped = [this](pid_t pid) {
    guardian_.remove(pid);
    share_->ranks().reaped(pid);
  };
  supervision.failed = [this](const JobFailure& failure) {
    JobFailure told = failure;
    if (told.asked) told.text = fmt::format("the launcher of node {} got {}", description_->node, failure.text);
    head_.send(ControlFrameType::failed, encode(told));
  };
  supervision.leaves_unattached = true;
  supervision.poll_handlers = poll_handlers();
  supervisor_ = std::make_unique<Supervisor>(share_->ranks().region(), signals_, std::move(supervision));
  share_->health().set_source(*supervisor_);
  for (const ControlFrame& frame : std::exchange(early_, {})) obey(frame);
  const auto refused = [this](const std::string& reason) {
    head_.send(ControlFrameType::refused, encode(reason));
    supervisor_->abandon(1);
  };
  try {
    share_->ranks().start_all(*supervisor_, guardian_, refused);
  } catch (const Error& error) {
    refused(error.what());
  }
}

/// Others may still ask what has become of the ranks, until the head has heard of all nodes' ends. Of a job that has
/// failed nobody asks for long, and a head that is out of reach does not come back.
void NodeLauncher::serve_until_the_end() {
  constexpr auto kPatience = std::chrono::seconds(60);
  std::vector<PollHandler*> all{this};
  if (supervisor_) all = poll_handlers();
  const bool failed = !supervisor_ || (supervisor_->failures() > 0 && !description_->options.shape.network.survive);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!head_.ended() && (!failed || std::chrono::steady_clock::now() < end)) {
    constexpr int kLookMs = 1000;
    wait_for(signals_.fd(), all, failed ? kLookMs : -1);
    while (const int signal = signals_.next()) {
      if (asks_to_end(signal)) return;
      if (signal == SIGCHLD) guardian_.look();
    }
    for (PollHandler* each : all) each->handle();
  }
}

void NodeLauncher::obey(const ControlFrame& frame) {
  if (frame.type == ControlFrameType::describe && !description_) {
    description_ = std::make_unique<NodeDescription>(decode<NodeDescription>(frame.payload));
    return;
  }
  if (frame.type == ControlFrameType::neighbours && description_ && neighbours_.empty()) {
    neighbours_ = decode<std::vector<NodeInterfaces>>(frame.payload);
    if (neighbours_.size() != description_->options.shape.nodes)
      throw Error(Errc::bad_input, fmt::format("the networks of {} nodes in a job of {}", neighbours_.size(),
                                               description_->options.shape.nodes));
    return;
  }
  if (frame.type == ControlFrameType::directory && !directory_) {
    directory_ = std::make_unique<JobDirectory>(decode<JobDirectory>(frame.payload));
    return;
  }
  if (frame.type == ControlFrameType::input && input_) return input_->push(frame.payload);
  if (!supervisor_) return early_.push_back(frame);
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
      if (std::exchange(reporting_, true)) return;
      supervisor_->report();
      reporting_ = false;
      return head_.send(ControlFrameType::reported);
    case ControlFrameType::watch:
      watching_ = true;
      return;
    default:
      return;
  }
}

void NodeLauncher::tell_unattached() {
  const RankProcess* who = told_unattached_ ? nullptr : supervisor_->unattached();
  if (who != nullptr) {
    told_unattached_ = true;
    head_.send(ControlFrameType::unattached, encode(unattached_text(*who)));
  }
  if (watching_ && supervisor_->anyone_waits()) {
    watching_ = false;
    head_.send(ControlFrameType::waits);
  }
}

}  // namespace coracle::internals
