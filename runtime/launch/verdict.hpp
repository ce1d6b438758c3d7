// Verdict: which of the failures of a job, or of a node's part of it, is told, and gives the exit status.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/launch/job_failure.hpp"

namespace coracle::internals {

class Verdict {
 public:
  /// `tell`: called with what is to be told.
  explicit Verdict(std::function<void(const JobFailure&)> tell) : tell_(std::move(tell)) {}

  /// The failure becomes the verdict, unless another one outweighs it; true when it does. `details`: of a crash, as the
  /// rank wrote them. Where the job goes on without the rank it is told in any case, and at once.
  bool add(const JobFailure& failure, bool goes_on = false, std::string_view details = {}) {
    const bool outweighs = !failure_ || failure.outweighs(*failure_);
    if (outweighs) {
      failure_ = failure;
      details_ = details;
      exit_status_ = failure.exit_status;
      since_ = std::chrono::steady_clock::now();
      told_ = goes_on;
    }
    if (goes_on) tell_(failure);
    return outweighs;
  }
  /// Tells it, once, if there is one: not while it is unsure, unless somebody has asked for the end.
  void tell(bool is_sure) {
    if (!failure_ || told_ || (!is_sure && !failure_->asked)) return;
    told_ = true;
    tell_(*failure_);
  }

  int exit_status() const noexcept { return exit_status_; }
  void set_exit_status(int status) noexcept { exit_status_ = status; }
  const std::string& details() const noexcept { return details_; }
  /// When it has become the verdict.
  std::chrono::steady_clock::time_point since() const noexcept { return since_; }

 private:
  std::function<void(const JobFailure&)> tell_;
  std::optional<JobFailure> failure_;  // what outweighs all others so far
  std::string details_;
  int exit_status_ = 0;
  std::chrono::steady_clock::time_point since_{};
  bool told_ = false;
};

}  // namespace coracle::internals
