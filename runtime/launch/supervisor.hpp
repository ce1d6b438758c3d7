// Supervisor: watches over a job's processes from the first one started until the last one has been reaped.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/job.hpp"
#include "runtime/launch/attendant.hpp"
#include "runtime/launch/exit_status.hpp"
#include "runtime/launch/health_responder.hpp"
#include "runtime/launch/rank_process.hpp"
#include "runtime/launch/signal_pipe.hpp"
#include "runtime/launch/stopped_ranks.hpp"

namespace coracle {

/// The first failure of a job, or of a node's part of it.
struct JobFailure {
  std::string text;  ///< "rank 3 (pid 123) exited with status 7"
  int exit_status = 1;
  bool crashed = false;  ///< A signal ended the rank: likelier to be the cause than an exit at about the same time.
  bool asked = false;    ///< A signal to the launcher: no failure of a rank.
};

/// The first rank that fails ends the job: SIGTERM to the process groups of the others, SIGKILL 300 ms later; unless
/// the job survives (NetworkOptions::survive): then the others are told. A rank that someone has stopped for too long
/// is killed, and so has failed (StoppedRanks). A signal to the launcher and the time limit end it always. All it has
/// to say goes to standard error. One thread.
class Supervisor final : public HealthSource {
 public:
  struct Options {
    std::string program;  ///< Path, for the backtraces.
    std::optional<std::chrono::nanoseconds> timeout;
    /// Called with the number of each process that has been reaped.
    std::function<void(pid_t)> reaped;
    /// For a node of several: called instead of saying what failed first. The words after the end are then the caller's
    /// too.
    std::function<void(const JobFailure&)> failed;
    /// Attended to in each step, and while it waits.
    std::vector<Attendant*> attendants;
  };
  Supervisor(const JobRegion& region, SignalPipe& signals, Options options);

  /// Takes charge of a child of this process.
  void add(pid_t pid, std::uint32_t first_rank, std::uint32_t ranks);
  /// Looks after a process beside the ranks, which must outlive run().
  void accompany(Companion& companion);
  /// Deals with what has happened, without waiting. False when the job is ending: then start no more ranks.
  bool step();
  /// Ends the job for a reason that lies outside the ranks and has been told; the second call kills them.
  void abandon(int exit_status);
  /// Stops all ranks, as Ctrl-Z wants it ...
  void stop_all();
  /// ... and lets them go on.
  void continue_all();
  /// Makes every rank say what it awaits.
  void report();
  /// Until all processes have been reaped; returns the job's exit status.
  int run();
  /// True when any rank has ever come to coracle::run.
  bool anyone_attached() const noexcept;
  /// True when one that has come to coracle::run still runs: it waits for the others.
  bool anyone_waits() const noexcept;
  /// The first that has ended well without ever coming to coracle::run, or null. No mistake, unless others wait for it.
  const RankProcess* bystander() const noexcept;
  HealthAnswer health(std::uint32_t rank) noexcept override;
  /// Ranks that failed by themselves.
  std::size_t failures() const noexcept { return failures_; }
  /// What the first failed rank wrote of its crash, made readable. Takes a while.
  std::string crash_details() const;

 private:
  using SteadyClock = std::chrono::steady_clock;
  struct Ended {
    std::size_t index;
    ExitStatus status;
  };

  void on_signal(int signal);
  void on_deadlines();
  void reap();
  void finish_companions();
  std::optional<Ended> reap_one();
  void note_stops();
  void judge(const std::vector<Ended>& ended);
  bool ended_too_early(const Ended& ended) const;
  void fail(const Ended& ended);
  JobFailure failure_by_signal(const RankProcess& process, int signal);
  void announce_loss(const RankProcess& process);
  bool survives() const noexcept { return region_.shape().network.survive; }
  void end_job(int exit_status);
  void signal_all(int signal) const;
  void report_failure(const JobFailure& failure);
  int wait_ms() const;
  void say_last_words();
  std::string crash_of(const RankProcess& process, std::uint32_t& rank) const;
  std::string given_up_text(const RankProcess& process) const;

  const JobRegion& region_;
  SignalPipe& signals_;
  Options options_;
  std::vector<Companion*> companions_;
  std::vector<RankProcess> processes_;
  StoppedRanks stopped_;
  std::unordered_map<pid_t, std::size_t> index_of_;
  std::size_t running_ = 0;
  bool ending_ = false;
  bool all_killed_ = false;
  int exit_status_ = 0;
  std::size_t failures_ = 0;      ///< Ranks that failed by themselves.
  bool bystander_ended_ = false;  ///< A rank ended well without ever having attached.
  bool asked_to_end_ = false;     ///< By a signal, or another node.
  bool all_stopped_ = false;      ///< By Ctrl-Z.
  std::string details_;           ///< Of the first failure, raw.
  std::optional<SteadyClock::time_point> deadline_;
  SteadyClock::time_point kill_at_{};
};

/// What to say of a bystander when others wait.
std::string bystander_text(const RankProcess& process);

}  // namespace coracle
