// JobFailure: how a job, a node's part of it, or a rank has failed, in words for the user; and Verdict, which of
// several failures is told.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/job/failure_record.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/process.hpp"
#include "runtime/launch/rank_process.hpp"

namespace coracle::internals {

/// What becomes known first need not be the first: the one that outweighs the others is told, and gives the exit
/// status.
struct JobFailure {
  std::string text;  ///< "rank 3 (pid 123) exited with status 7"
  int exit_status = 1;
  bool crashed = false;     ///< A signal ended the rank: likelier to be the cause than an exit at about the same time.
  bool asked = false;       ///< A signal to the launcher, or the time limit: no failure of a rank, and final.
  bool for_others = false;  ///< The rank says that it fails because another one has.
  std::uint64_t when_ns = 0;  ///< As the rank has noted it, by the clock of its machine; 0: it could not.
  std::uint64_t machine = 0;  ///< See NodeCard; only the head tells them apart.

  /// True when this is likelier to be the cause than `other`, which is known already: what was asked for before all,
  /// what others have caused after all. Between these the earlier where both times are known (of one machine), else
  /// crashes before exits.
  bool outweighs(const JobFailure& other) const noexcept;
};

/// Of several ranks in one process those of the crash that ended it, else of the likeliest cause.
FailureRecord failure_record_of(const JobRegion& region, const RankProcess& process);

/// Of one that has ended with `status` and by no order. `ending`: the launcher was ending the job then.
JobFailure failure_of(const JobRegion& region, const RankProcess& process, const ExitStatus& status,
                      const FailureRecord& record, bool ending);

/// What to say of one that has ended well without ever coming to coracle::run, when others wait.
std::string unattached_text(const RankProcess& process);

/// "1 s", "1500 ms".
std::string text_of(const std::chrono::nanoseconds& time);

/// Which of the failures of a job, or of a node's part of it, is told, and gives the exit status.
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
