// StoppedRanks: gives up ranks that someone has stopped (SIGSTOP) while their peers wait for them for longer than the
// silence limit. Only their launcher can: it is told of stops, and peers on the same node ask nobody.
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "runtime/job/job.hpp"
#include "runtime/launch/rank_process.hpp"

namespace coracle::internals {

/// Nobody is blamed for a stop of the whole job, by whatever means, for a debugger's, or for time in which this process
/// did not run either: it counts its own looks at which a rank was stopped and somebody ran that waits for it, not
/// seconds.
class StoppedRanks {
 public:
  using SteadyClock = std::chrono::steady_clock;

  explicit StoppedRanks(const JobRegion& region);

  /// Whether someone has stopped `process`, and no debugger holds it.
  static bool is_stopped(const RankProcess& process) noexcept;
  /// A rank of another node asks after one of `process`, so it waits.
  static void note_question(RankProcess& process) noexcept;

  /// Looks if it is time to, and kills processes that are given up (RankProcess::given_up).
  void look(std::span<RankProcess> processes);
  /// When look() has something to do next.
  std::optional<SteadyClock::time_point> next_look() const noexcept { return next_look_; }
  /// The job is stopped as a whole, by its launcher: no looks meanwhile.
  void pause() noexcept { next_look_.reset(); }

 private:
  bool is_awaited(const RankProcess& process, std::span<const RankProcess> all) const;

  const JobRegion& region_;
  const std::chrono::nanoseconds limit_;
  const std::chrono::nanoseconds interval_;
  std::optional<SteadyClock::time_point> next_look_;  // none while nobody is stopped
};

}  // namespace coracle::internals
