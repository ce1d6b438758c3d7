// WaitCollector: what a node's launcher knows of what its ranks wait for, and since when nothing has changed in that.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/insight/rank_waits.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/rank_process.hpp"

namespace coracle::internals {

/// Costs a rank that waits a few microseconds a look, and one that computes nothing. One thread.
class WaitCollector {
 public:
  /// `programs`: as for readable_crash() (backtrace_text.hpp).
  WaitCollector(const JobRegion& region, std::vector<std::string> programs);

  /// Asks all ranks, and gives those that wait a moment to answer. `processes` are not looked at any more once it waits
  /// itself.
  Task<> look(std::span<const RankProcess> processes);
  /// Finds out where in the program these ranks are: of those that ran at the last look, which a signal asks, and of
  /// those that wait in functions of an interface.
  Task<> locate(std::span<const RankProcess> processes, std::span<const std::uint32_t> ranks);
  /// What is known since the last look, of each rank of this node in its order.
  std::vector<insight::RankState> states(std::span<const RankProcess> processes) const;
  /// Ranks have been stopped, or this launcher has: what was the same before and after says nothing.
  void forget_times() noexcept;

 private:
  using SteadyClock = std::chrono::steady_clock;

  struct Seen {
    insight::Doing doing = insight::Doing::starting;
    SteadyClock::time_point since{};  // it does that, with the same waits, or without its loop's turning
    std::uint64_t sleeps = 0;
    insight::RankWaits waits;
    std::string function;
    std::string place;
    std::string stack;
  };

  struct Asked {
    std::uint32_t rank = 0;
    pid_t pid = 0;
    pid_t thread = 0;
  };

  std::vector<Asked> ask_all(std::span<const RankProcess> processes);
  Task<> await_starved(std::span<const Asked> asked);
  Seen& seen(std::uint32_t rank) noexcept { return seen_[rank - region_.first_rank()]; }
  bool has_answered(std::uint32_t rank) const noexcept;
  void note(std::uint32_t rank, insight::Doing doing, bool changed) noexcept;
  void take_answer(std::uint32_t rank);
  void find_places(std::span<const std::uint32_t> ranks);

  const JobRegion& region_;
  const std::vector<std::string> programs_;
  std::vector<Seen> seen_;
};

}  // namespace coracle::internals
