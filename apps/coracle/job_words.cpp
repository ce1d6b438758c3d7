// By number, or because there is no other.
#include "apps/coracle/job_words.hpp"

#include <fmt/format.h>

#include <vector>

#include "apps/common/command_line.hpp"
#include "apps/common/units.hpp"
#include "runtime/core/error.hpp"
#include "runtime/launch/job_questions.hpp"

namespace coracle::internals {

pid_t job_of(const std::string& word) {
  if (!word.empty()) {
    const auto pid = parse_whole(word, 1, 1U << 30);
    if (!pid) wrong(fmt::format("JOB {}: must be the process of `coracle run`; `coracle ps` lists them", word));
    return static_cast<pid_t>(*pid);
  }
  const std::vector<pid_t> jobs = jobs_here();
  if (jobs.empty()) throw Error(Errc::bad_input, "you have no job on this machine");
  if (jobs.size() > 1)
    throw Error(Errc::bad_input,
                fmt::format("you have {} jobs on this machine: say which one (`coracle ps`)", jobs.size()));
  return jobs.front();
}

}  // namespace coracle::internals
