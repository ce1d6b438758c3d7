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
#include "runtime/launch/exit_status.hpp"
#include "runtime/launch/rank_process.hpp"
#include "runtime/launch/signal_pipe.hpp"

namespace coracle {

/// The first rank that fails ends the job: SIGTERM to the process groups of the others, SIGKILL 300 ms later. So do a
/// signal to the launcher and the time limit. All it has to say goes to standard error. One thread.
class Supervisor {
 public:
  struct Options {
    std::string program;  ///< Path, for the backtraces.
    std::optional<std::chrono::nanoseconds> timeout;
    /// Called with the number of each process that has been reaped.
    std::function<void(pid_t)> reaped;
  };
  Supervisor(const JobRegion& region, SignalPipe& signals, Options options);

  /// Takes charge of a child of this process.
  void add(pid_t pid, std::uint32_t first_rank, std::uint32_t ranks);
  /// Deals with what has happened, without waiting. False when the job is ending: then start no more ranks.
  bool step();
  /// Ends the job because a rank could not be started.
  void abandon(int exit_status);
  /// Until all processes have been reaped; returns the job's exit status.
  int run();
  /// True when any rank has ever come to coracle::run.
  bool anyone_attached() const noexcept;

 private:
  using SteadyClock = std::chrono::steady_clock;
  struct Ended {
    std::size_t index;
    ExitStatus status;
  };

  void on_signal(int signal);
  void on_deadlines();
  void stop_and_continue();
  void reap();
  std::optional<Ended> reap_one();
  void judge(const std::vector<Ended>& ended);
  bool ended_too_early(const Ended& ended) const;
  void fail(const Ended& ended);
  void end_job(int exit_status);
  void signal_all(int signal) const;
  int wait_ms() const;
  void say_last_words();
  std::string crash_of(const RankProcess& process, std::uint32_t& rank) const;

  const JobRegion& region_;
  SignalPipe& signals_;
  Options options_;
  std::vector<RankProcess> processes_;
  std::unordered_map<pid_t, std::size_t> index_of_;
  std::size_t running_ = 0;
  bool ending_ = false;
  bool all_killed_ = false;
  int exit_status_ = 0;
  std::size_t failures_ = 0;      ///< Ranks that failed by themselves.
  bool bystander_ended_ = false;  ///< A rank ended well without ever having attached.
  bool asked_to_end_ = false;     ///< By a signal.
  std::string details_;           ///< Of the first failure, raw.
  std::optional<SteadyClock::time_point> deadline_;
  SteadyClock::time_point kill_at_{};
};

}  // namespace coracle
