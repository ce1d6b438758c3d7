// HeadLauncher: starts the launchers of a job's nodes, makes them known to each other, and sees them to their end.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/core/condition.hpp"
#include "runtime/launch/job_failure.hpp"
#include "runtime/launch/job_options.hpp"
#include "runtime/launch/job_questions.hpp"
#include "runtime/launch/launcher_loop.hpp"
#include "runtime/launch/node_peer.hpp"
#include "runtime/launch/node_states.hpp"
#include "runtime/launch/stall_watch.hpp"
#include "runtime/launch/standard_files.hpp"
#include "runtime/launch/summary_files.hpp"
#include "runtime/launch/trace_file.hpp"

namespace coracle::internals {

/// For jobs of several nodes that are not simulated. What it says, and the exit status, are as the Launcher's. Owned by
/// a process that has one thread and no other children; its nodes end with it. What takes time is a coroutine of its
/// own.
class HeadLauncher {
 public:
  /// Throws Error when the job can't be run.
  explicit HeadLauncher(JobOptions options);
  ~HeadLauncher();
  HeadLauncher(const HeadLauncher&) = delete;
  HeadLauncher& operator=(const HeadLauncher&) = delete;

  int run();

 private:
  using SteadyClock = std::chrono::steady_clock;

  Task<int> serve(Scope& services);
  Task<> take_signals();
  Task<> listen_to(NodePeer& peer);
  Task<> limit_time();
  Task<> report_all();
  Task<> tell_verdict();
  Task<> ask_times(NodeClock::When when);
  Task<> ask_time(NodePeer& peer, NodeClock::When when);
  void write_trace();
  void write_summary();
  bool wants_times() const noexcept { return trace_.is_wanted() || summary_.is_wanted(); }
  Task<> write_what_was_told();
  void take_trace(NodePeer& peer, const ControlFrame& frame);
  void take_summary(NodePeer& peer, const ControlFrame& frame);
  Task<> end_in_time();
  Task<> let_go();
  Task<> all_reaped_within(std::chrono::seconds patience);

  void on_signal(int signal);
  void reap();
  void hear(NodePeer& peer);
  void obey(NodePeer& peer, const ControlFrame& frame);
  void rank_failed(const NodePeer& peer, const JobFailure& failure);
  void fail(const NodePeer* peer, const JobFailure& failure);
  void end_nodes(ControlFrameType how);
  void kill_nodes();
  void give_up_nodes();
  Task<> send_input();
  void start_ranks();
  void say_how_it_ended();

  JobOptions options_;
  LauncherLoop loop_;
  std::vector<NodePeer> peers_;
  StandardFiles standard_;
  TraceFile trace_;
  SummaryFiles summary_;
  std::uint32_t times_asked_ = 0;
  Verdict verdict_;
  const NodePeer* culprit_ = nullptr;  ///< Whose failure the verdict is.
  Scope* services_ = nullptr;
  Condition changed_;  ///< Something has happened that a coroutine above may wait for.
  NodeStates states_;
  StallWatch stall_watch_{states_};
  JobQuestions questions_;
  bool started_ = false;
  bool ending_ = false;
  bool killed_ = false;        ///< The ranks were, by their launchers ...
  bool nodes_killed_ = false;  ///< ... which were killed themselves then.
  bool timed_out_ = false;
  bool reporting_ = false;
  bool asked_to_end_ = false;
  bool letting_go_ = false;                  ///< Only launchers without ranks are left.
  bool in_a_hurry_ = false;                  ///< They are not waited for.
  std::string unattached_;                   ///< The first, in words, ...
  const NodePeer* unattached_of_ = nullptr;  ///< ... and whose it is.
  std::size_t other_failures_ = 0;
  SteadyClock::time_point give_up_at_{};
};

}  // namespace coracle::internals
