// Runs a benchmark as a job of its own: this very program is started as the job's ranks, with the user's own words
// behind what else the ranks are told, and rank 0 hands its report back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/bench/benchmarks.hpp"

namespace coracle::internals::bench {

class CommandJobs final : public Jobs {
 public:
  /// `words`: the user's, without the program's name. The request must outlive it.
  CommandJobs(const Request& request, std::vector<std::string> words) : request_(request), words_(std::move(words)) {}
  const Request& request() const noexcept override { return request_; }
  Report run(const Benchmark& benchmark, const JobPlan& plan) override;

 private:
  const Request& request_;
  std::vector<std::string> words_;
};

/// First word of a rank: the next tells its part, and the user's own follow.
inline constexpr const char* kAsRank = "--as-rank";

/// Is a rank; gives its exit status. `part`: the word behind kAsRank.
int be_rank(const Benchmarks& benchmarks, const Request& request, const std::string& part);

/// The folder of this program, in which the others of Coracle are, too; ends with a slash.
std::string own_folder();

}  // namespace coracle::internals::bench
