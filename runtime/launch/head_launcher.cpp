// One loop over signals, nodes and time limits.
#include "runtime/launch/head_launcher.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/job/crash_report.hpp"
#include "runtime/launch/launcher.hpp"
#include "runtime/launch/listening.hpp"
#include "runtime/launch/node_share.hpp"
#include "runtime/launch/pmix_client.hpp"
#include "runtime/launch/process_spawn.hpp"
#include "runtime/launch/process_state.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartPatience = 60s;
constexpr auto kSettle = 1s;          // for a failure on another node to be known, which may be the cause; or all end
constexpr auto kEndPatience = 12s;    // for nodes to end their ranks
constexpr auto kKillPatience = 10s;   // for the kernel to end launchers that were killed
constexpr auto kReportPatience = 7s;  // for a node's ranks to report
constexpr auto kNotAgain = std::chrono::steady_clock::time_point::max();

}  // namespace

HeadLauncher::HeadLauncher(JobOptions options) : options_(std::move(options)) {
  catch_broken_pipes();
  JobOptions here = options_;
  if (!options_.hosts.empty()) here.shape.placement = Placement::process;  // whether others offer pvas they will say
  check(here);
  if (options_.hosts.empty()) find_program(options_.program);
  options_.shape.key = random_job_key();
}

HeadLauncher::~HeadLauncher() = default;

int HeadLauncher::run() {
  if (options_.timeout)
    deadline_ = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(*options_.timeout);
  start_nodes();
  turn_until(SteadyClock::now() + kStartPatience, [this] { return ending_ || all_have_cards(); });
  if (!ending_ && !all_have_cards()) {
    for (NodePeer& peer : peers_)
      if (!peer.card) fail(&peer, of_node(peer, fmt::format("has not answered within {} s", kStartPatience / 1s)));
  }
  if (!ending_) send_directory();
  turn_until(kNotAgain, [this] { return all_done(); });
  say_how_it_ended();
  let_go();
  return exit_status_;
}

void HeadLauncher::start_nodes() {
  peers_.resize(options_.shape.nodes);
  for (std::uint32_t node = 0; node < options_.shape.nodes; ++node) {
    NodePeer& peer = peers_[node];
    peer.node = node;
    if (!options_.hosts.empty()) peer.host = options_.hosts[node];
    start_node(peer, options_);
    peer.stream->send(ControlFrameType::describe, encode(describe_node(peer, options_)));
  }
}

bool HeadLauncher::all_have_cards() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const NodePeer& peer) { return peer.card != nullptr; });
}

bool HeadLauncher::all_done() const {
  return std::all_of(peers_.begin(), peers_.end(),
                     [this](const NodePeer& peer) { return peer.done() || (ending_ && !started_); });
}

/// Once all have told of their networks: each chooses where to listen by those of the others.
void HeadLauncher::send_neighbours() {
  std::vector<NodeInterfaces> nodes;
  for (const NodePeer& peer : peers_) {
    if (!peer.interfaces) return;
    nodes.push_back(*peer.interfaces);
  }
  for (NodePeer& peer : peers_) peer.stream->send(ControlFrameType::neighbours, encode(nodes));
}

void HeadLauncher::send_directory() {
  JobDirectory directory;
  for (const NodePeer& peer : peers_) directory.cards.push_back(*peer.card);
  for (NodePeer& peer : peers_) {
    share_machines(directory, peer.node);
    peer.stream->send(ControlFrameType::directory, encode(directory));
  }
  started_ = true;
  if (options_.verbose) tell_transports();
  if (!peers_.front().host.empty()) standard_.forward_input_to(*peers_.front().stream);
}

void HeadLauncher::tell_transports() const {
  const JobShape& shape = options_.shape;
  say("starting {} ranks of {} on {} nodes, placement {}", shape.size, options_.program, shape.nodes,
      to_string(shape.placement));
  for (const std::string& note : options_.notes) say("{}", note);
  for (const NodePeer& peer : peers_)
    say("{}: {} rank{} on {}, listening {}", peer.name(), peer.card->ports.size(),
        peer.card->ports.size() == 1 ? "" : "s", peer.card->record.host.data(), describe_listening(peer.card->record));
}

void HeadLauncher::turn_until(SteadyClock::time_point end, const std::function<bool()>& condition) {
  start_by_ = end;
  while (!condition() && SteadyClock::now() < end) turn();
  start_by_ = kNotAgain;
}

void HeadLauncher::turn() {
  std::vector<pollfd> set{{signals_.fd(), POLLIN, 0}};
  for (const NodePeer& peer : peers_)
    if (peer.stream) peer.stream->want(set, !standard_.full());
  standard_.want(set);
  ::poll(set.data(), set.size(), wait_ms());  // EINTR: a signal, which is in its pipe too
  while (const int signal = signals_.next()) on_signal(signal);
  standard_.handle();
  for (NodePeer& peer : peers_)
    if (peer.stream) listen_to(peer);
  on_deadlines();
}

int HeadLauncher::wait_ms() const {
  auto until = start_by_;
  if (verdict_ && !said_) until = std::min(until, verdict_at_);
  if (ending_)
    until = std::min(until, give_up_at_);
  else if (deadline_)
    until = std::min(until, *deadline_);
  if (until == kNotAgain) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, INT_MAX));
}

void HeadLauncher::on_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      return reap();
    case SIGUSR1:
      say("what the ranks await, as asked by SIGUSR1:");
      return report_all();
    case SIGTSTP:
      // Nodes' launchers go on meanwhile, and answer for their ranks.
      broadcast(ControlFrameType::stop);
      ::raise(SIGSTOP);
      return broadcast(ControlFrameType::resume);
    default:
      break;
  }
  if (asked_to_end_) return killed_ ? kill_nodes() : end_nodes(ControlFrameType::kill);
  asked_to_end_ = true;
  if (!ending_) fail(nullptr, {fmt::format("{}: ending the job", signal_name(signal)), 128 + signal, false, true});
}

void HeadLauncher::on_deadlines() {
  const auto now = SteadyClock::now();
  if (verdict_ && !said_ && now >= verdict_at_) say_verdict();
  if (ending_ && now >= give_up_at_) nodes_killed_ ? give_up_nodes() : kill_nodes();
  if (ending_ || !deadline_ || now < *deadline_) return;
  deadline_.reset();
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(options_.timeout.value_or(0ns)).count();
  say("the job has not ended within {}; this is what its ranks await:",
      limit % 1000 == 0 ? fmt::format("{} s", limit / 1000) : fmt::format("{} ms", limit));
  report_all();
  fail(nullptr, {"", 124, false, true});
}

void HeadLauncher::report_all() {
  if (!started_ || std::exchange(reporting_, true)) return;
  for (NodePeer& peer : peers_) {
    if (peer.done()) continue;
    peer.reported = false;
    peer.stream->send(ControlFrameType::report);
    turn_until(SteadyClock::now() + kReportPatience, [&] { return peer.reported || peer.done(); });
    if (!peer.reported && !peer.done()) write_to_user(fmt::format("{}: its launcher does not answer\n", peer.name()));
  }
  reporting_ = false;
}

void HeadLauncher::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
    for (NodePeer& peer : peers_) {
      if (peer.pid != pid) continue;
      peer.pid = -1;
      peer.exit = ExitStatus::from_wait(status);
      listen_to(peer);  // what it has said last
      if (!peer.done()) lose(peer);
    }
  }
}

void HeadLauncher::listen_to(NodePeer& peer) {
  try {
    peer.stream->flush();
    while (!standard_.full()) {
      std::optional<ControlFrame> frame = peer.stream->receive();
      if (!frame) break;
      obey(peer, std::move(*frame));
    }
  } catch (const Error& error) {
    const bool was_done = peer.done();
    peer.lost = true;
    peer.stream = std::make_unique<ControlStream>(-1, -1);  // whereupon that launcher ends its ranks
    if (!was_done) fail(&peer, of_node(peer, error.what()));
  }
}

void HeadLauncher::obey(NodePeer& peer, ControlFrame frame) {
  switch (frame.type) {
    case ControlFrameType::hello:
      peer.greeted = true;
      return;
    case ControlFrameType::refused:
      peer.refused = true;
      return fail(&peer, {decode<std::string>(frame.payload), 1, false});
    case ControlFrameType::interfaces:
      if (peer.interfaces) return;
      peer.interfaces = decode<NodeInterfaces>(frame.payload);
      return send_neighbours();
    case ControlFrameType::card:
      peer.card = std::make_unique<NodeCard>(decode<NodeCard>(frame.payload));
      return;
    case ControlFrameType::failed:
      return rank_failed(peer, decode<JobFailure>(frame.payload));
    case ControlFrameType::unattached:
      if (unattached_of_ == nullptr) {
        unattached_ = decode<std::string>(frame.payload);
        unattached_of_ = &peer;
      }
      return broadcast(ControlFrameType::watch);
    case ControlFrameType::waits:
      if (unattached_of_ != nullptr) fail(unattached_of_, {unattached_, 1, false});
      return;
    case ControlFrameType::reported:
      peer.reported = true;
      return;
    case ControlFrameType::output:
      return standard_.write(frame.payload);
    case ControlFrameType::credit:
      return standard_.grant(decode<std::uint32_t>(frame.payload));
    case ControlFrameType::ended:
      peer.end = decode<NodeEnd>(frame.payload);
      other_failures_ += peer.end->failures;
      return;
    default:
      throw Error(Errc::bad_input, "malformed message of a launcher: a type that only the head sends");
  }
}

void HeadLauncher::lose(NodePeer& peer) {
  peer.lost = true;
  if (ending_) return;
  JobFailure failure = of_node(peer, peer.why_gone());
  failure.crashed = true;
  rank_failed(peer, failure);
}

void HeadLauncher::rank_failed(const NodePeer& peer, const JobFailure& failure) {
  const bool ends = failure.asked || ending_ || !started_;
  if (ends || !options_.shape.network.survive) return fail(&peer, failure);
  // Those that can do without it go on, but the job has not ended well.
  say("{}{}", origin(&peer), failure.text);
  if (adopt(&peer, failure)) said_ = true;
}

/// Processes of this machine are found by their numbers alone.
std::string HeadLauncher::origin(const NodePeer* peer) {
  return peer != nullptr && !peer->host.empty() ? peer->name() + ": " : "";
}

/// Not of one of its ranks: so it is named, unless it will be by its origin.
JobFailure HeadLauncher::of_node(const NodePeer& peer, const std::string& what) {
  return {origin(&peer).empty() ? fmt::format("{}: {}", peer.name(), what) : what, 1, false};
}

/// The first to be known ends the job, but one that outweighs it takes its place, also when that has been told. Of a
/// job that has survived a failure the next may weigh less: it ends the job nevertheless, and is told.
void HeadLauncher::fail(const NodePeer* peer, const JobFailure& failure) {
  const bool ends = !ending_;
  const bool is_verdict = adopt(peer, failure);
  if (is_verdict) verdict_at_ = SteadyClock::now() + kSettle;
  if (ends) end_nodes(ControlFrameType::end);
  if (is_verdict && failure.asked) say_verdict();
  if (ends && !is_verdict) say("{}{}", origin(peer), failure.text);
}

/// True when the failure is the verdict now.
bool HeadLauncher::adopt(const NodePeer* peer, JobFailure failure) {
  if (verdict_) {
    const auto machine = [](const NodePeer* each) { return each != nullptr && each->card ? each->card->machine : 0; };
    JobFailure timed = failure;
    if (machine(peer) != machine(culprit_)) timed.when_ns = 0;  // by another clock
    if (!timed.outweighs(*verdict_)) return false;
  }
  verdict_of_ = origin(peer);
  exit_status_ = failure.exit_status;
  verdict_ = std::make_unique<JobFailure>(std::move(failure));
  culprit_ = peer;
  said_ = false;
  return true;
}

void HeadLauncher::say_verdict() {
  said_ = true;
  if (!verdict_->text.empty()) say("{}{}", verdict_of_, verdict_->text);
}

void HeadLauncher::end_nodes(ControlFrameType how) {
  ending_ = true;
  killed_ = how == ControlFrameType::kill;
  give_up_at_ = SteadyClock::now() + kEndPatience;
  broadcast(how);
}

void HeadLauncher::kill_nodes() {
  if (!std::exchange(nodes_killed_, true)) give_up_at_ = SteadyClock::now() + kKillPatience;
  for (const NodePeer& peer : peers_) {
    if (peer.done() || peer.pid < 0) continue;
    say("{} does not end; its launcher is killed", peer.name());
    ::kill(peer.pid, SIGKILL);
  }
}

/// What the kernel does not end in time is left to it.
void HeadLauncher::give_up_nodes() {
  give_up_at_ = kNotAgain;
  for (NodePeer& peer : peers_) {
    if (peer.done()) continue;
    say("the launcher of {} (pid {}) was killed but does not end within {} s: it is {}; giving it up", peer.name(),
        peer.pid, kKillPatience / 1s, whereabouts(peer.pid));
    peer.lost = true;
  }
}

void HeadLauncher::broadcast(ControlFrameType type) {
  for (NodePeer& peer : peers_)
    if (peer.stream && !peer.done()) peer.stream->send(type);
}

void HeadLauncher::say_how_it_ended() {
  standard_.finish();
  if (!ending_ && exit_status_ == 0) {
    const bool used =
        std::any_of(peers_.begin(), peers_.end(), [](const NodePeer& peer) { return peer.end && peer.end->attached; });
    const JobShape& shape = options_.shape;
    if (!used && shape.placement == Placement::thread && shape.size > shape.nodes)
      say("{} does not use Coracle: with --place thread it ran once per node, as an ordinary program (--place process "
          "runs it {} times)",
          options_.program, shape.size);
    return;
  }
  if (verdict_ && !said_) say_verdict();
  if (culprit_ != nullptr && culprit_->end) write_to_user(culprit_->end->details);
  if (other_failures_ > 1) say("{} other ranks failed too", other_failures_ - 1);
  say("job ended, exit status {}", exit_status_);
}

/// The nodes' launchers end when their streams do; until then they have answered for their ranks.
void HeadLauncher::let_go() {
  for (NodePeer& peer : peers_) peer.stream.reset();
  const auto gone = [this] {
    return std::all_of(peers_.begin(), peers_.end(), [](const NodePeer& peer) { return peer.pid < 0; });
  };
  bool in_a_hurry = false;
  const auto reap_until = [&](SteadyClock::time_point end) {
    while (!gone() && !in_a_hurry && SteadyClock::now() < end) {
      pollfd wanted{signals_.fd(), POLLIN, 0};
      ::poll(&wanted, 1, 50);
      while (const int signal = signals_.next()) in_a_hurry |= asks_to_end(signal);
      for (NodePeer& peer : peers_)
        if (peer.pid > 0 && ::waitpid(peer.pid, nullptr, WNOHANG) == peer.pid) peer.pid = -1;
    }
  };
  reap_until(SteadyClock::now() + 2s);
  for (const NodePeer& peer : peers_)
    if (peer.pid > 0) ::kill(peer.pid, SIGKILL);
  in_a_hurry = false;
  reap_until(SteadyClock::now() + kKillPatience);
}

}  // namespace coracle::internals
