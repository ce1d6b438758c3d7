// RankTable: a launcher's children: the processes of a node's ranks, and the helpers beside them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/job/job.hpp"
#include "runtime/job/process.hpp"
#include "runtime/launch/rank_process.hpp"

namespace coracle::internals {

/// Knows of ends and stops by waitid after SIGCHLD, for all children at once: a descriptor for each (pidfd) would tell
/// of no stops, and large jobs have none to spare.
class RankTable {
 public:
  struct Ended {
    RankProcess* rank;
    ExitStatus status;
  };

  /// `reaped`: called with the number of each process of ranks that has been reaped.
  RankTable(const JobRegion& region, std::function<void(pid_t)> reaped) : region_(region), reaped_(std::move(reaped)) {}

  RankProcess& add(pid_t pid, std::uint32_t first_rank, std::uint32_t ranks);
  void add(HelperProcess& helper) { helpers_.push_back(&helper); }

  std::span<RankProcess> all() noexcept { return processes_; }
  /// Processes that have not been reaped.
  std::size_t running() const noexcept { return index_of_.size(); }
  /// To all of them.
  void signal_all(int signal) const;

  /// Ranks that someone has stopped, or that go on: their peers may ask. `all_stopped`: this launcher has.
  void note_stops(bool all_stopped);
  /// Those that have ended, reaped. One that failed, and when `ending` any, takes its process group with it.
  std::vector<Ended> reap(bool ending);
  /// All ranks have ended: ends the helpers. Returns how the first has failed that did, or "", also when the job has
  /// failed: what they were used for has failed then.
  std::string finish_helpers(bool job_failed);

  /// Notes who is past saving, by its own words or the kernel's (RankProcess::dying).
  void note_dying();
  bool any_dying() const noexcept;
  /// True when any rank has ever come to coracle::run.
  bool any_attached() const noexcept;
  /// True when one that has come to coracle::run still runs: it waits for the others.
  bool any_waits() const noexcept;
  /// The first that has ended without ever coming to coracle::run, or null. No mistake, unless others wait for it.
  const RankProcess* unattached() const noexcept;

 private:
  RankProcess* find(pid_t pid) noexcept;
  void note_end(RankProcess& rank, const ExitStatus& status);

  const JobRegion& region_;
  std::function<void(pid_t)> reaped_;
  std::vector<RankProcess> processes_;
  std::unordered_map<pid_t, std::size_t> index_of_;  // of those that have not been reaped
  std::vector<HelperProcess*> helpers_;
};

}  // namespace coracle::internals
