// StallWatch: notices that ranks stand still, and tells why. It looks at them from outside, now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/mutex.hpp"
#include "runtime/core/task.hpp"
#include "runtime/insight/job_picture.hpp"
#include "runtime/insight/verdict.hpp"
#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

/// Where the states of ranks come from.
class StateSource {
 public:
  /// By rank; empty: not now.
  virtual Task<std::vector<insight::RankState>> look() = 0;
  /// The same with the places of these ranks, without another look.
  virtual Task<std::vector<insight::RankState>> locate(std::vector<std::uint32_t> ranks) = 0;
  /// What was the same before and after some time says nothing.
  virtual void forget_times() = 0;

 protected:
  ~StateSource() = default;
};

/// Of a launcher that sees all ranks of a job.
class StallWatch {
 public:
  explicit StallWatch(StateSource& source) noexcept : source_(source) {}

  /// Tells each new situation once, when it has lasted for the stall time; until it is cancelled.
  Task<> serve(StallOptions stall);

  struct Explanation {
    std::vector<insight::RankState> states;
    std::vector<insight::HangVerdict> verdicts;
  };
  /// Looks again until what is there has lasted a moment, and says why ranks wait.
  Task<Explanation> explain();
  /// The same, on standard error.
  Task<> tell_why();
  /// One look, and what it has seen; no rank that runs gets a signal for it.
  Task<insight::JobPicture> picture(const JobOptions& options);
  /// What `coracle ps`, `coracle why` and `coracle top` ask of a job with these options (JobQuestions).
  Task<std::string> answer(std::string question, const JobOptions& options);

 private:
  Task<Explanation> look(std::uint64_t stall_ms);
  std::vector<insight::HangVerdict> news_of(const Explanation& found) const;
  void tell_new(const Explanation& found, const StallOptions& stall);

  StateSource& source_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  Mutex one_at_a_time_;
  std::set<std::string> told_;
};

}  // namespace coracle::internals
