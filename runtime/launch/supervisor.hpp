// Supervisor: watches over a job's processes from the first one started until the last one has been reaped.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/job/exit_status.hpp"
#include "runtime/job/failure_record.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/health_responder.hpp"
#include "runtime/launch/poll_handler.hpp"
#include "runtime/launch/rank_process.hpp"
#include "runtime/launch/signal_pipe.hpp"
#include "runtime/launch/stopped_ranks.hpp"

namespace coracle::internals {

/// A failure of a job, or of a node's part of it. What becomes known first need not be the first: the one that
/// outweighs the others is told, and gives the exit status.
struct JobFailure {
  std::string text;  ///< "rank 3 (pid 123) exited with status 7"
  int exit_status = 1;
  bool crashed = false;     ///< A signal ended the rank: likelier to be the cause than an exit at about the same time.
  bool asked = false;       ///< A signal to the launcher, or the time limit: no failure of a rank, and final.
  bool for_others = false;  ///< The rank says that it fails because another one has.
  std::uint64_t when_ns = 0;  ///< As the rank has noted it, by the clock of its machine; 0: it could not.

  /// True when this is likelier to be the cause than `other`, which is known already: what was asked for before all,
  /// what others have caused after all. Between these the earlier where both times are known (of one machine), else
  /// crashes before exits.
  bool outweighs(const JobFailure& other) const noexcept;
};

/// The first rank that fails ends the job: SIGTERM to the process groups of the others, SIGKILL 300 ms later. A rank
/// that was failing then, unreaped as yet, may turn out to be the cause, and takes the place of what failed because of
/// it. In a job that survives (NetworkOptions::survive) the others are told instead. A rank that someone has stopped
/// for too long is killed, and so has failed (StoppedRanks). A signal to the launcher and the time limit end it always.
/// All it has to say goes to standard error. One thread.
class Supervisor final : public HealthSource {
 public:
  struct Options {
    std::string program;  ///< Path, for the backtraces.
    std::optional<std::chrono::nanoseconds> timeout;
    /// Called with the number of each process that has been reaped.
    std::function<void(pid_t)> reaped;
    /// For a node of several: called instead of saying what failed first, and again for what outweighs that. The words
    /// after the end are then the caller's too.
    std::function<void(const JobFailure&)> failed;
    /// A rank that has ended without ever coming to coracle::run, while others wait, is a matter of the caller's, who
    /// sees all nodes.
    bool leaves_unattached = false;
    /// Attended to in each step, and while it waits.
    std::vector<PollHandler*> poll_handlers;
  };
  Supervisor(const JobRegion& region, SignalPipe& signals, Options options);

  /// Takes charge of a child of this process.
  void add(pid_t pid, std::uint32_t first_rank, std::uint32_t ranks);
  /// Looks after a process beside the ranks, which must outlive run().
  void accompany(HelperProcess& helper);
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
  const RankProcess* unattached() const noexcept;
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
  void finish_helpers();
  std::optional<Ended> reap_one();
  void note_stops();
  void judge(const std::vector<Ended>& ended);
  bool ended_too_early(const Ended& ended) const;
  bool ended_for_us(const Ended& ended) const noexcept;
  void fail(const Ended& ended);
  JobFailure failure_by_signal(const RankProcess& process, int signal, const FailureRecord& words) const;
  void accuse(const JobFailure& failure, std::string_view details = {});
  void note_dying();
  void kill_all();
  bool gives_up();
  bool any_dying() const noexcept;
  SteadyClock::time_point kill_at() const noexcept;
  void tell_verdict();
  void tell(const JobFailure& failure);
  void announce_loss(const RankProcess& process);
  bool survives() const noexcept { return region_.shape().network.survive; }
  void end_job(int exit_status);
  void signal_all(int signal) const;
  int wait_ms() const;
  void say_how_it_ended();
  FailureRecord failure_record(const RankProcess& process) const;
  std::string given_up_text(const RankProcess& process) const;

  const JobRegion& region_;
  SignalPipe& signals_;
  Options options_;
  std::vector<HelperProcess*> helpers_;
  std::vector<RankProcess> processes_;
  StoppedRanks stopped_;
  std::unordered_map<pid_t, std::size_t> index_of_;
  std::size_t running_ = 0;
  bool ending_ = false;
  bool all_killed_ = false;
  int exit_status_ = 0;
  std::size_t failures_ = 0;           ///< Ranks that failed by themselves.
  bool unattached_ended_ = false;      ///< A rank ended well without ever having attached.
  bool asked_to_end_ = false;          ///< By a signal, or another node.
  bool all_stopped_ = false;           ///< By Ctrl-Z.
  std::optional<JobFailure> verdict_;  ///< What outweighs all other failures so far.
  bool told_ = false;                  ///< The verdict has been.
  std::string details_;                ///< Of the verdict, raw.
  std::optional<SteadyClock::time_point> deadline_;
  SteadyClock::time_point ended_at_{};
  SteadyClock::time_point killed_at_{};
};

/// What to say of an unattached rank when others wait.
std::string unattached_text(const RankProcess& process);

}  // namespace coracle::internals
