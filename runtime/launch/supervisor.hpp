// Supervisor: watches over a job's processes from the first one started until the last one has been reaped.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/condition.hpp"
#include "runtime/core/mutex.hpp"
#include "runtime/launch/job_failure.hpp"
#include "runtime/launch/launcher_loop.hpp"
#include "runtime/launch/listeners.hpp"
#include "runtime/launch/local_states.hpp"
#include "runtime/launch/mpi_libraries.hpp"
#include "runtime/launch/rank_table.hpp"
#include "runtime/launch/stall_watch.hpp"
#include "runtime/launch/stopped_ranks.hpp"

namespace coracle::internals {

/// The first rank that fails ends the job: SIGTERM to the process groups of the others, SIGKILL 300 ms later. A rank
/// that was failing then, unreaped as yet, may turn out to be the cause, and takes the place of what failed because of
/// it. In a job that survives (NetworkOptions::survive) the others are told instead. A rank that someone has stopped
/// for too long is killed, and so has failed (StoppedRanks). A signal to the launcher and the time limit end it always.
/// All it has to say goes to standard error. What takes time is a coroutine of its own. One thread.
class Supervisor final : public HealthSource {
 public:
  struct Options {
    std::vector<std::string> programs;  ///< Paths, for the backtraces.
    std::optional<std::chrono::nanoseconds> timeout;
    std::optional<StallOptions> stall;
    /// Says what is to be said of ranks that have loaded another MPI; null: nobody looks for that.
    const MpiLibraries* mpi = nullptr;
    /// Called with the number of each process that has been reaped.
    std::function<void(pid_t)> reaped;
    /// For a node of several: called instead of saying what failed first, and again for what outweighs that. The words
    /// after the end are then the caller's too.
    std::function<void(const JobFailure&)> failed;
    /// Called once, when a rank has ended without ever coming to coracle::run: a matter of the caller's, who sees all
    /// nodes. Empty: it ends the job if others wait.
    std::function<void(const RankProcess&)> unattached;
    /// Called instead of saying why a rank can't be started.
    std::function<void(const std::string&)> refused;
  };
  Supervisor(const JobRegion& region, LauncherLoop& loop, Options options);

  /// Awaits `start`, which starts the ranks, and then the end of all of them; returns the job's exit status.
  Task<int> run(Task<> start);

  // --- While run() does.

  /// For `start`: what has happened is dealt with first. False when the job is ending: then start no more ranks.
  Task<bool> may_start();
  bool ending() const noexcept { return ending_; }
  /// A rank can't be started, for a reason that is to be told: ends the job.
  void refuse(const std::string& reason);
  /// Takes charge of a child of this process.
  void add(pid_t pid, std::uint32_t first_rank, std::uint32_t ranks);
  /// Looks after a process beside the ranks.
  void accompany(HelperProcess& helper);

  // --- Any time.

  /// Ends the job for a reason that lies outside the ranks and has been told; the second call kills them.
  void abandon(int exit_status);
  /// Stops all ranks, as Ctrl-Z wants it ...
  void stop_all();
  /// ... and lets them go on.
  void continue_all();
  /// Makes every rank say what it awaits. None is reaped meanwhile.
  Task<> report();
  /// What the ranks await, as data.
  LocalStates& states() noexcept { return states_; }
  StallWatch& stall_watch() noexcept { return stall_watch_; }
  const RankTable& ranks() const noexcept { return ranks_; }
  HealthAnswer health(std::uint32_t rank) noexcept override;
  /// Ranks that failed by themselves.
  std::size_t failures() const noexcept { return failures_; }
  /// What the first failed rank wrote of its crash, made readable. Takes a while.
  std::string crash_details() const;

 private:
  Task<> supervise(Scope& services, Task<> start);
  Task<> take_signals();
  Task<> limit_time();
  Task<> end_in_time();
  Task<> look_at_stopped();
  Task<> look_for_waits();
  Task<> look_for_other_mpi();

  void on_signal(int signal);
  void reap();
  void judge(const std::vector<RankTable::Ended>& ended);
  bool survives() const noexcept { return region_.shape().network.survive; }
  void end_job();
  void kill_all();
  void tell_verdict();
  void tell_other_mpi();
  void finish();

  const JobRegion& region_;
  LauncherLoop& loop_;
  const Options options_;
  RankTable ranks_;
  StoppedRanks stopped_;
  Verdict verdict_;
  std::size_t failures_ = 0;   ///< Ranks that failed by themselves.
  Scope* services_ = nullptr;  ///< While it runs.
  Mutex reaping_;              ///< Held to reap, and to have nobody reaped.
  Condition changed_;          ///< What a coroutine below may wait for.
  bool ending_ = false;
  bool all_killed_ = false;
  bool given_up_ = false;          ///< What was killed does not end.
  bool asked_to_end_ = false;      ///< By a signal, or another node.
  bool all_stopped_ = false;       ///< By Ctrl-Z.
  bool looking_ = false;           ///< At stopped ranks.
  bool unattached_ended_ = false;  ///< A rank ended well without ever having attached.
  /// Of one that a rank has loaded, and perhaps does not use.
  struct {
    std::uint32_t rank = 0;
    std::string words;
    bool is_told = false;
  } other_mpi_;
  LocalStates states_;
  StallWatch stall_watch_{states_};
};

}  // namespace coracle::internals
