// Signals, nodes and time limits, each a coroutine.
#include "runtime/launch/head_launcher.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/job/failure_record.hpp"
#include "runtime/launch/interfaces.hpp"
#include "runtime/launch/job_failure.hpp"
#include "runtime/launch/launcher.hpp"
#include "runtime/launch/pmix_client.hpp"
#include "runtime/launch/processes.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartPatience = 60s;
constexpr auto kSettle = 1s;        // for a failure on another node to be known, which may be the cause; or all end
constexpr auto kEndPatience = 12s;  // for nodes to end their ranks
constexpr auto kLauncherPatience = 10s;  // for the kernel to end launchers that were killed
constexpr auto kReportPatience = 7s;     // for a node's ranks to report

}  // namespace

HeadLauncher::HeadLauncher(JobOptions options)
    : options_(std::move(options)),
      trace_(options_.trace, options_.open_trace),
      summary_(options_),
      verdict_([](const JobFailure& failure) {
        if (!failure.text.empty()) say("{}", failure.text);
      }),
      states_(peers_, changed_, options_.shape.size) {
  catch_broken_pipes();
  JobOptions here = options_;
  if (!options_.hosts.empty()) here.shape.placement = Placement::process;  // whether others offer pvas they will say
  check(here);
  if (options_.hosts.empty())
    for (const ProgramPart& part : options_.programs) find_program(part);
  options_.shape.key = random_job_key();
}

HeadLauncher::~HeadLauncher() = default;

int HeadLauncher::run() {
  return loop_.run([this](Scope& services) { return serve(services); });
}

Task<int> HeadLauncher::serve(Scope& services) {
  services_ = &services;
  if (options_.timeout) services.spawn(limit_time());
  peers_.resize(options_.shape.nodes);
  for (std::uint32_t node = 0; node < options_.shape.nodes; ++node) {
    NodePeer& peer = peers_[node];
    peer.node = node;
    if (!options_.hosts.empty()) peer.host = options_.hosts[node];
    start_node(peer, options_);
    peer.stream->send(ControlFrameType::describe, encode(describe_node(peer, options_)));
  }
  for (NodePeer& peer : peers_) {
    services.spawn(peer.stream->send_queued(loop_.io()));
    services.spawn(listen_to(peer));
  }
  standard_.serve(services, loop_.io());
  services.spawn(take_signals());
  services.spawn(questions_.serve(loop_.io(), services, [this](std::string question) {
    return stall_watch_.answer(std::move(question), options_);
  }));
  const auto ready = [this] { return ending_ || std::ranges::all_of(peers_, &NodePeer::has_card); };
  if (!co_await finishes_within(kStartPatience, changed_.wait(ready))) {
    for (NodePeer& peer : peers_)
      if (!peer.card) fail(&peer, peer.failure(fmt::format("has not answered within {} s", kStartPatience / 1s)));
  }
  if (!ending_ && wants_times()) co_await ask_times(NodeClock::When::beginning);
  if (!ending_ && options_.input.who == InputReaders::Who::all) co_await send_input();
  if (!ending_) start_ranks();
  const auto done = [this] { return std::ranges::all_of(peers_, &NodePeer::done) && (ending_ || !timed_out_); };
  if (started_) co_await changed_.wait(done);
  if (started_ && wants_times()) co_await write_what_was_told();
  say_how_it_ended();
  co_await let_go();
  co_return verdict_.exit_status();
}

/// Of `--stdin all`, to all other hosts, before their ranks start: standard input is a file by now.
Task<> HeadLauncher::send_input() {
  constexpr std::size_t kQueuedMax = 1 << 20;
  std::vector<std::byte> buffer(kQueuedMax / 4);
  for (NodePeer& peer : peers_) {
    if (peer.host.empty()) continue;
    off_t place = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
    for (ssize_t bytes = 1; bytes > 0 && !ending_ && !peer.stream->ended(); place += bytes) {
      bytes = ::pread(STDIN_FILENO, buffer.data(), buffer.size(), place);
      if (bytes < 0) {
        const std::string why = std::generic_category().message(errno);
        co_return fail(nullptr, {fmt::format("can't read standard input for all ranks (--stdin all): {}", why), 1});
      }
      peer.stream->send(ControlFrameType::input, std::span(buffer).first(static_cast<std::size_t>(bytes)));
      while (peer.stream->backlog() >= kQueuedMax && !ending_ && !peer.stream->ended())
        co_await finishes_within(1s, peer.stream->room(kQueuedMax));
    }
  }
}

void HeadLauncher::start_ranks() {
  send_directory(peers_);
  started_ = true;
  if (options_.stall) services_->spawn(stall_watch_.serve(*options_.stall));
  const JobShape& shape = options_.shape;
  if (options_.verbose) {
    say("starting {} ranks of {} on {} nodes, placement {}", shape.size, program_names(options_), shape.nodes,
        to_string(shape.placement));
    for (const std::string& note : options_.notes) say("{}", note);
    for (const NodePeer& peer : peers_)
      say("{}: {} rank{} on {}, listening {}", peer.name(), peer.card->ports.size(),
          peer.card->ports.size() == 1 ? "" : "s", peer.card->record.host.data(),
          describe_listening(peer.card->record));
  }
  if (options_.input.who != InputReaders::Who::one) return;
  NodePeer& reader = peers_[node_of(options_, options_.input.rank)];
  if (!reader.host.empty() || !can_inherit_input())
    services_->spawn(standard_.forward_input_to(*reader.stream, loop_.io()));
}

Task<> HeadLauncher::take_signals() {
  for (;;) {
    on_signal(co_await loop_.signal());
    changed_.notify_all();
  }
}

void HeadLauncher::on_signal(int signal) {
  if (letting_go_) in_a_hurry_ |= asks_to_end(signal);
  if (letting_go_ && signal != SIGCHLD) return;
  switch (signal) {
    case SIGCHLD:
      return reap();
    case SIGUSR1:
      say("what the ranks await, as asked by SIGUSR1:");
      return services_->spawn(report_all());
    case SIGTSTP:
      // Nodes' launchers go on meanwhile, and answer for their ranks.
      broadcast(peers_, ControlFrameType::stop);
      ::raise(SIGSTOP);
      return broadcast(peers_, ControlFrameType::resume);
    default:
      break;
  }
  if (asked_to_end_) return killed_ ? kill_nodes() : end_nodes(ControlFrameType::kill);
  asked_to_end_ = true;
  if (!ending_) fail(nullptr, {fmt::format("{}: ending the job", signal_name(signal)), 128 + signal, false, true});
}

Task<> HeadLauncher::limit_time() {
  const auto limit = options_.timeout.value_or(0ns);
  co_await sleep_for(limit);
  if (ending_ || letting_go_) co_return;
  timed_out_ = true;
  say("the job has not ended within {}; this is what its ranks await:", text_of(limit));
  if (started_) co_await stall_watch_.tell_why();
  co_await report_all();
  fail(nullptr, {"", 124, false, true});
  changed_.notify_all();
}

Task<> HeadLauncher::report_all() {
  if (!started_ || std::exchange(reporting_, true)) co_return;
  for (NodePeer& peer : peers_) {
    if (peer.done()) continue;
    peer.reported = false;
    peer.stream->send(ControlFrameType::report);
    const auto answered = [&peer] { return peer.reported || peer.done(); };
    // An answer may lie there when the limit passes: of a launcher that was stopped itself.
    if (!co_await finishes_within(kReportPatience, changed_.wait(answered)) && !answered())
      write_to_user(fmt::format("{}: its launcher does not answer\n", peer.name()));
  }
  reporting_ = false;
}

void HeadLauncher::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
    const auto peer = std::ranges::find(peers_, pid, &NodePeer::pid);
    if (peer == peers_.end()) continue;
    peer->pid = -1;
    peer->exit = ExitStatus::from_wait(status);
    hear(*peer);  // what it has said last
    if (peer->done()) continue;
    peer->lost = true;
    if (ending_) continue;
    JobFailure failure = peer->failure(peer->why_gone());
    failure.crashed = true;
    rank_failed(*peer, failure);
  }
}

Task<> HeadLauncher::listen_to(NodePeer& peer) {
  for (;;) {
    hear(peer);
    changed_.notify_all();
    if (standard_.full())
      co_await standard_.room();
    else if (peer.stream->ended())
      co_return;
    else
      co_await loop_.io().wait_readable(peer.stream->fd());
  }
}

/// All that has come whole.
void HeadLauncher::hear(NodePeer& peer) {
  try {
    while (!letting_go_ && !standard_.full()) {
      const std::optional<ControlFrame> frame = peer.stream->receive();
      if (!frame) return;
      obey(peer, *frame);
    }
  } catch (const Error& error) {
    const bool was_done = peer.done();
    peer.lost = true;
    peer.stream->shut();  // whereupon that launcher ends its ranks
    if (!was_done) fail(&peer, peer.failure(error.what()));
  }
}

void HeadLauncher::obey(NodePeer& peer, const ControlFrame& frame) {
  switch (frame.type) {
    case ControlFrameType::hello:
      peer.greeted = true;
      return;
    case ControlFrameType::refused:
      peer.refused = true;
      return fail(&peer, peer.failure(JobFailure{decode<std::string>(frame.payload)}));
    case ControlFrameType::interfaces:
      if (peer.interfaces) return;
      peer.interfaces = decode<NodeInterfaces>(frame.payload);
      return send_neighbours(peers_);
    case ControlFrameType::card:
      peer.card = std::make_unique<NodeCard>(decode<NodeCard>(frame.payload));
      return;
    case ControlFrameType::failed:
      return rank_failed(peer, peer.failure(decode<JobFailure>(frame.payload)));
    case ControlFrameType::unattached:
      if (unattached_of_ == nullptr) {
        unattached_ = decode<std::string>(frame.payload);
        unattached_of_ = &peer;
      }
      return broadcast(peers_, ControlFrameType::watch);
    case ControlFrameType::waits:
      if (unattached_of_ != nullptr) fail(unattached_of_, unattached_of_->failure(JobFailure{unattached_}));
      return;
    case ControlFrameType::reported:
      peer.reported = true;
      return;
    case ControlFrameType::states:
      peer.states = insight::decode_states(frame.payload);
      return;
    case ControlFrameType::output:
      return standard_.write(OutputStream::output, frame.payload);
    case ControlFrameType::errors:
      return standard_.write(OutputStream::errors, frame.payload);
    case ControlFrameType::credit:
      return standard_.grant(decode<std::uint32_t>(frame.payload));
    case ControlFrameType::time:
      peer.time = decode<ClockAnswer>(frame.payload);
      peer.time_came_ns = real_clock().now_ns();
      return;
    case ControlFrameType::trace:
      return take_trace(peer, frame);
    case ControlFrameType::summary:
      return take_summary(peer, frame);
    case ControlFrameType::ended:
      peer.end = decode<NodeEnd>(frame.payload);
      other_failures_ += peer.end->failures;
      return;
    default:
      throw Error(Errc::bad_input, "malformed message of a launcher: a type that only the head sends");
  }
}

Task<> HeadLauncher::ask_times(NodeClock::When when) {
  for (NodePeer& peer : peers_)
    if (peer.hears()) co_await ask_time(peer, when);
}

/// Of a few answers the quickest says most. A launcher that does not answer is not waited for.
Task<> HeadLauncher::ask_time(NodePeer& peer, NodeClock::When when) {
  constexpr int kQuestions = 16;
  constexpr auto kPatience = 500ms;
  for (int question = 0; question < kQuestions && peer.hears(); ++question) {
    const std::uint32_t number = ++times_asked_;
    const std::uint64_t sent_ns = real_clock().now_ns();
    peer.stream->send(ControlFrameType::clock, encode(number));
    const auto answered = [&] { return (peer.time && peer.time->number == number) || !peer.hears(); };
    if (!co_await finishes_within(kPatience, changed_.wait(answered)) || !peer.hears() || !peer.time) co_return;
    peer.traces.clock().add(when, sent_ns, peer.time->ns, peer.time_came_ns);
  }
}

void HeadLauncher::take_trace(NodePeer& peer, const ControlFrame& frame) {
  if (!peer.card) return;
  std::uint32_t first = 0;
  for (std::uint32_t node = 0; node < peer.node; ++node)
    first += peers_[node].card ? static_cast<std::uint32_t>(peers_[node].card->ports.size()) : 0;
  peer.traces.add(decode<TracePart>(frame.payload), first, static_cast<std::uint32_t>(peer.card->ports.size()),
                  options_.shape.trace_bytes);
}

void HeadLauncher::take_summary(NodePeer& peer, const ControlFrame& frame) {
  RankSummary summary = summary_of(frame.payload, options_.shape.size);
  if (!summary_.is_wanted() || node_of(options_, summary.rank) != peer.node) return;
  summary.node = peer.node;
  const auto is_later = [&](const RankSummary& other) { return other.rank >= summary.rank; };
  const auto place = std::ranges::find_if(peer.summaries, is_later);
  if (place != peer.summaries.end() && place->rank == summary.rank) return;
  peer.summaries.insert(place, std::move(summary));
}

Task<> HeadLauncher::write_what_was_told() {
  co_await ask_times(NodeClock::When::end);
  if (summary_.is_wanted()) write_summary();
  if (trace_.is_wanted()) write_trace();
}

void HeadLauncher::write_summary() {
  JobSummaries all;
  all.size = options_.shape.size;
  all.nodes = options_.shape.nodes;
  std::vector<std::uint64_t> uncertainties_ns;
  uncertainties_ns.reserve(peers_.size());
  for (NodePeer& peer : peers_) {
    if (peer.lost) say("{}: its part of the summary is missing, since its launcher went", peer.name());
    const NodeClock& clock = peer.traces.clock();
    uncertainties_ns.push_back(clock.uncertainty_ns().value_or(0));
    for (RankSummary& rank : peer.summaries) {
      set_clock(rank, clock);
      all.ranks.push_back(std::move(rank));
    }
  }
  all.uncertainty_ns = uncertainty_between(std::move(uncertainties_ns));
  summary_.write(all);
}

void HeadLauncher::write_trace() {
  JobTrace trace;
  for (NodePeer& peer : peers_) {
    for (RankEvents& rank : peer.traces.take(peer.node)) trace.ranks.push_back(std::move(rank));
    if (peer.lost) say("{}: its part of the trace is missing, since its launcher went", peer.name());
  }
  align_by_messages(trace);
  trace_.write(std::move(trace));
}

void HeadLauncher::rank_failed(const NodePeer& peer, const JobFailure& failure) {
  const bool ends = failure.asked || ending_ || !started_;
  if (ends || !options_.shape.network.survive) return fail(&peer, failure);
  // Those that can do without it go on, but the job has not ended well.
  if (verdict_.add(failure, true)) culprit_ = &peer;
}

/// The first to be known ends the job, but one that outweighs it takes its place, also when that has been told. Of a
/// job that has survived a failure the next may weigh less: it ends the job nevertheless, and is told.
void HeadLauncher::fail(const NodePeer* peer, const JobFailure& failure) {
  const bool ends = !ending_;
  const bool is_verdict = verdict_.add(failure);
  if (is_verdict) culprit_ = peer;
  if (ends) end_nodes(ControlFrameType::end);
  verdict_.tell(false);  // if it was asked for
  if (is_verdict) services_->spawn(tell_verdict());
  if (ends && !is_verdict) say("{}", failure.text);
}

/// Of those that become the verdict soon after each other, the last.
Task<> HeadLauncher::tell_verdict() {
  for (auto now = SteadyClock::now(); now < verdict_.since() + kSettle; now = SteadyClock::now())
    co_await sleep_for(verdict_.since() + kSettle - now);
  verdict_.tell(true);
}

void HeadLauncher::end_nodes(ControlFrameType how) {
  give_up_at_ = SteadyClock::now() + kEndPatience;
  killed_ = how == ControlFrameType::kill;
  broadcast(peers_, how);
  if (!std::exchange(ending_, true)) services_->spawn(end_in_time());
}

void HeadLauncher::kill_nodes() {
  if (!std::exchange(nodes_killed_, true)) give_up_at_ = SteadyClock::now() + kLauncherPatience;
  for (const NodePeer& peer : peers_) {
    if (peer.done() || peer.pid < 0) continue;
    say("{} does not end; its launcher is killed", peer.name());
    ::kill(peer.pid, SIGKILL);
  }
}

/// What the kernel does not end in time is left to it.
void HeadLauncher::give_up_nodes() {
  for (NodePeer& peer : peers_) {
    if (peer.done()) continue;
    say("the launcher of {} (pid {}) was killed but does not end within {} s: it is {}; giving it up", peer.name(),
        peer.pid, kLauncherPatience / 1s, whereabouts(peer.pid));
    peer.lost = true;
  }
  changed_.notify_all();
}

/// What the nodes do not end in time ends with their launchers.
Task<> HeadLauncher::end_in_time() {
  for (;;) {
    for (auto now = SteadyClock::now(); now < give_up_at_; now = SteadyClock::now())
      co_await finishes_within(give_up_at_ - now, as_task(changed_.wait()));
    if (nodes_killed_) break;
    kill_nodes();
  }
  give_up_nodes();
}

void HeadLauncher::say_how_it_ended() {
  standard_.finish();
  if (!ending_ && verdict_.exit_status() == 0) {
    const JobShape& shape = options_.shape;
    const bool used = std::ranges::any_of(peers_, [](const NodePeer& peer) { return peer.end && peer.end->attached; });
    if (!used && shape.placement == Placement::thread && shape.size > shape.nodes)
      say("{} does not use Coracle: with --place thread it ran once per node, as an ordinary program (--place process "
          "runs it {} times)",
          program_names(options_), shape.size);
    return;
  }
  verdict_.tell(true);
  if (culprit_ != nullptr && culprit_->end) write_to_user(culprit_->end->details);
  if (other_failures_ > 1) say("{} other ranks failed too", other_failures_ - 1);
  say("job ended, exit status {}", verdict_.exit_status());
}

/// The nodes' launchers end when their streams do; until then they have answered for their ranks.
Task<> HeadLauncher::let_go() {
  letting_go_ = true;
  for (NodePeer& peer : peers_) peer.stream->shut();
  co_await all_reaped_within(2s);
  for (const NodePeer& peer : peers_)
    if (peer.pid > 0) ::kill(peer.pid, SIGKILL);
  co_await all_reaped_within(kLauncherPatience);
}

Task<> HeadLauncher::all_reaped_within(std::chrono::seconds patience) {
  in_a_hurry_ = false;
  const auto gone = [this] { return in_a_hurry_ || std::ranges::none_of(peers_, &NodePeer::has_launcher); };
  co_await finishes_within(patience, changed_.wait(gone));
}

}  // namespace coracle::internals
