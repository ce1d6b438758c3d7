// The processes that a launcher looks after: RankProcess and HelperProcess; and waking those who sleep at a doorbell
// when a process that may have been ringing it has died.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <string>

#include "runtime/core/doorbell.hpp"
#include "runtime/core/io.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/process.hpp"

namespace coracle::internals {

/// One process of a job: a rank, or (`thread`, `sim`) all of a node.
struct RankProcess {
  pid_t pid = 0;
  std::uint32_t first_rank = 0;
  std::uint32_t ranks = 1;
  bool running = true;
  int exit_status = 0;  ///< As the shell has it, or kGivenUpStatus; once it runs no more.
  /// Since when it runs, or does no more.
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();

  bool dying = false;  ///< It had failed, or was ending, when the job was ended: by no signal from here.

  // --- for StoppedRanks ---
  int stop_signal = 0;                      ///< That has stopped it, but not from this launcher; 0: none.
  std::chrono::nanoseconds awaited_for{0};  ///< While stopped.
  int questions = 0;                        ///< Looks for which the last question of another node counts.
  bool given_up = false;                    ///< And killed.

  /// Someone has stopped it, or (0) it goes on. Too late once it is given up: what has stopped it is to be told.
  void note_stop(int signal) noexcept {
    if (given_up) return;
    stop_signal = signal;
    awaited_for = {};
    questions = 0;
  }

  /// "rank 3 (pid 123)"; "process 123 (ranks 0 to 7)".
  std::string name() const {
    if (ranks == 1) return fmt::format("rank {} (pid {})", first_rank, pid);
    return fmt::format("process {} (ranks {} to {})", pid, first_rank, first_rank + ranks - 1);
  }

  bool holds(std::uint32_t rank) const noexcept { return rank - first_rank < ranks; }

  /// To the process and all in its group. Only before it has been reaped: then its number can't have passed to another.
  void signal(int number) const noexcept {
    // One that does not lead a group yet, or has left its own to those whom it has started, is outside.
    if (::kill(-pid, number) != 0 || number == SIGKILL) ::kill(pid, number);
  }

  /// True when any rank is in `phase`.
  bool any_at(const JobRegion& region, RankPhase phase) const noexcept {
    for (std::uint32_t rank = first_rank; rank < first_rank + ranks; ++rank)
      // acquire: pairs with the rank's release when it comes to the phase.
      if (region.block(rank).phase.load(std::memory_order_acquire) == phase) return true;
    return false;
  }
};

/// A process beside the ranks, which its launcher looks after.
class HelperProcess {
 public:
  virtual ~HelperProcess() = default;
  /// What it needs done while there are ranks.
  virtual Task<> serve(Io&) { co_return; }
  /// A child that is no rank has ended; true when it is this one.
  virtual bool ended(pid_t pid, const ExitStatus& status) = 0;
  /// All ranks have ended, well or not: ends the process, and waits for that. Returns how it has failed, or "".
  virtual std::string finish(bool job_failed) = 0;
};

/// Wakes the doorbell's owner whatever its state says, perhaps for nothing. A ringer takes the owner's announcement
/// first and makes the system call then: one that died in between has left a sleeper who counts as awake, and whom no
/// Doorbell::ring() will ever wake. Call after what is to be seen has been published by a seq_cst operation. Needs the
/// doorbell's descriptor, if it has one, as launchers do.
void wake_regardless(Doorbell& doorbell) noexcept;

/// The same for all ranks of the region and the owner of their devices.
void wake_all_regardless(const JobRegion& region) noexcept;

/// Of the ranks of `process`, to their peers on this node, and to the owner of their devices; those of other nodes find
/// its connections reset.
void announce_loss(const JobRegion& region, const RankProcess& process) noexcept;

}  // namespace coracle::internals
