// HeadLauncher: starts the launchers of a job's nodes, makes them known to each other, and sees them to their end.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runtime/launch/job_options.hpp"
#include "runtime/launch/node_peer.hpp"
#include "runtime/launch/signal_pipe.hpp"
#include "runtime/launch/standard_files.hpp"
#include "runtime/launch/supervisor.hpp"

namespace coracle::internals {

/// For jobs of several nodes that are not simulated. What it says, and the exit status, are as the Launcher's. Owned by
/// a process that has one thread and no other children; its nodes end with it.
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

  void start_nodes();
  void send_neighbours();
  void send_directory();
  void tell_transports() const;
  void turn();
  void turn_until(SteadyClock::time_point end, const std::function<bool()>& condition);
  int wait_ms() const;
  bool all_done() const;
  bool all_have_cards() const;

  void on_signal(int signal);
  void on_deadlines();
  void reap();
  void listen_to(NodePeer& peer);
  void obey(NodePeer& peer, ControlFrame frame);
  void lose(NodePeer& peer);
  void fail(const NodePeer* peer, const JobFailure& failure);
  bool adopt(const NodePeer* peer, JobFailure failure);
  void rank_failed(const NodePeer& peer, const JobFailure& failure);
  static std::string origin(const NodePeer* peer);
  static JobFailure of_node(const NodePeer& peer, const std::string& what);
  void say_verdict();
  void end_nodes(ControlFrameType how);
  void kill_nodes();
  void give_up_nodes();
  void broadcast(ControlFrameType type);
  void report_all();
  void say_how_it_ended();
  void let_go();

  JobOptions options_;
  SignalPipe signals_;
  std::vector<NodePeer> peers_;
  StandardFiles standard_;
  bool started_ = false;
  bool ending_ = false;
  bool killed_ = false;        ///< The ranks were, by their launchers ...
  bool nodes_killed_ = false;  ///< ... which were killed themselves then.
  bool reporting_ = false;
  int exit_status_ = 0;
  bool asked_to_end_ = false;
  std::unique_ptr<JobFailure> verdict_;  ///< What outweighs all failures so far; to be told at verdict_at_.
  std::string verdict_of_;               ///< Name of the node, for those of other machines.
  const NodePeer* culprit_ = nullptr;
  bool said_ = false;
  std::string unattached_;                   ///< The first, in words, ...
  const NodePeer* unattached_of_ = nullptr;  ///< ... and whose it is.
  std::size_t other_failures_ = 0;
  SteadyClock::time_point verdict_at_{};
  SteadyClock::time_point give_up_at_{};
  SteadyClock::time_point start_by_{};
  std::optional<SteadyClock::time_point> deadline_;
};

}  // namespace coracle::internals
