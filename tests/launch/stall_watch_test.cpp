// A stall watch over ranks whose states are made by hand: what it tells, how often, and what it keeps to itself.
#include "runtime/launch/stall_watch.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/launch/launcher_loop.hpp"
#include "tests/insight/job_states.hpp"

namespace coracle::internals::stall_watch_test {
namespace {

using insight::test::Job;
using States = std::vector<insight::RankState>;

/// Of three ranks, of which the last waits for the first. The others are what differs.
Job job_of_three() {
  Job job(3);
  job.message(2, WaitKind::receive, 0, 7, "a.cpp:12");
  return job;
}

States all_go_on() {
  Job job = job_of_three();
  job.runs(0, "a.cpp:1");
  job.runs(1, "a.cpp:1");
  job.rank(2).still_ms = 0;
  return job.states();
}

States cycle_of_two(std::uint64_t last_waits_ms) {
  Job job = job_of_three();
  job.message(0, WaitKind::receive, 1, 7, "a.cpp:10");
  job.message(1, WaitKind::receive, 0, 7, "a.cpp:11");
  job.rank(2).still_ms = last_waits_ms;
  return job.states();
}

/// Shows one state after the other, and then the last for ever.
class Shown final : public StateSource {
 public:
  explicit Shown(std::vector<States> states) : states_(std::move(states)) {}
  Task<States> look() override {
    ++looks_;
    co_return states_[std::min(looks_, states_.size()) - 1];
  }
  Task<States> locate(std::vector<std::uint32_t>) override { co_return states_[std::min(looks_, states_.size()) - 1]; }
  void forget_times() override {}
  Task<> has_looked(std::size_t times) const {
    while (looks_ < times) co_await sleep_for(std::chrono::milliseconds(1));
  }

 private:
  std::vector<States> states_;
  std::size_t looks_ = 0;
};

/// What has been told, a line each, once each of the states has been looked at, and the last often.
std::vector<std::string> told_of(std::vector<States> states) {
  const std::string log = std::filesystem::temp_directory_path() / ("stall-watch-" + std::to_string(::getpid()));
  const std::size_t looks = states.size() + 6;
  Shown shown(std::move(states));
  StallWatch watch(shown);
  LauncherLoop loop;
  loop.run([&](Scope& services) -> Task<int> {
    services.spawn(watch.serve({std::chrono::milliseconds(40), log}));
    co_await shown.has_looked(looks);
    co_return 0;
  });
  std::vector<std::string> lines;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::filesystem::remove(log);
  return lines;
}

}  // namespace

TEST_CASE("a stall that is over at the second look is not told") {
  CHECK(told_of({cycle_of_two(5000), all_go_on()}).empty());
  CHECK(told_of({all_go_on(), cycle_of_two(5000), all_go_on(), cycle_of_two(5000), all_go_on()}).empty());
}

TEST_CASE("a stall that stays is told once, with those who have come to it since") {
  // The first look sees the third rank wait for a moment only.
  const std::vector<std::string> told = told_of({all_go_on(), cycle_of_two(0), cycle_of_two(5000)});
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("rank 0 waits for rank 1 waits for rank 0") != std::string::npos);
  CHECK(told[0].find("\"waiting\":[2]") != std::string::npos);
}

}  // namespace coracle::internals::stall_watch_test
