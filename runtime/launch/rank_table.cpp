// waitid for any child, and searches in a list.
#include "runtime/launch/rank_table.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "runtime/launch/job_failure.hpp"
#include "runtime/launch/processes.hpp"
#include "runtime/rank/health.hpp"

namespace coracle::internals {
namespace {

/// A child that has ended and is not reaped yet; of number 0: none.
siginfo_t next_ended() {
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    info.si_pid = 0;
    if (errno != EINTR) break;
  }
  return info;
}

ExitStatus reap_one(pid_t pid) {
  int word = 0;
  while (::waitpid(pid, &word, 0) < 0 && errno == EINTR) {
  }
  return ExitStatus::from_wait(word);
}

}  // namespace

RankProcess& RankTable::add(pid_t pid, std::uint32_t first_rank, std::uint32_t ranks) {
  index_of_[pid] = processes_.size();
  return processes_.emplace_back(RankProcess{pid, first_rank, ranks});
}

RankProcess* RankTable::find(pid_t pid) noexcept {
  const auto found = index_of_.find(pid);
  return found == index_of_.end() ? nullptr : &processes_[found->second];
}

void RankTable::signal_all(int signal) const {
  for (const RankProcess& process : processes_)
    if (process.running) process.signal(signal);
}

void RankTable::note_stops(bool all_stopped) {
  for (siginfo_t info{}; ::waitid(P_ALL, 0, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid != 0;
       info = siginfo_t{}) {
    RankProcess* const rank = find(info.si_pid);
    if (rank != nullptr && !all_stopped) rank->note_stop(info.si_code != CLD_CONTINUED ? info.si_status : 0);
  }
}

std::vector<RankTable::Ended> RankTable::reap(bool ending) {
  std::vector<Ended> all;
  for (siginfo_t info = next_ended(); info.si_pid != 0; info = next_ended()) {
    RankProcess* const rank = find(info.si_pid);
    const bool failed = info.si_code != CLD_EXITED || info.si_status != 0;
    if (rank != nullptr && (failed || ending)) ::kill(-info.si_pid, SIGKILL);  // while its number is still its own
    const ExitStatus status = reap_one(info.si_pid);
    if (rank == nullptr) {
      for (HelperProcess* const helper : helpers_)
        if (helper->ended(info.si_pid, status)) break;
      continue;
    }
    if (reaped_) reaped_(info.si_pid);
    note_end(*rank, status);
    all.push_back({rank, status});
  }
  return all;
}

void RankTable::note_end(RankProcess& rank, const ExitStatus& status) {
  index_of_.erase(rank.pid);
  rank.running = false;
  rank.since = std::chrono::steady_clock::now();
  rank.given_up &= status.signal == SIGKILL;
  rank.exit_status = rank.given_up ? kGivenUpStatus : status.signal != 0 ? 128 + status.signal : status.code;
}

std::string RankTable::finish_helpers(bool job_failed) {
  std::string first;
  for (HelperProcess* const helper : helpers_) {
    const std::string failure = helper->finish(job_failed || !first.empty());
    if (first.empty() && !job_failed) first = failure;
  }
  return first;
}

void RankTable::note_dying() {
  for (RankProcess& process : processes_) {
    if (!process.running) continue;
    const FailureRecord record = failure_record_of(region_, process);
    process.dying = (record.when_ns != 0 && !record.for_others) || ProcessState::of(process.pid).is_ending();
  }
}

bool RankTable::any_dying() const noexcept {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const RankProcess& process) { return process.running && process.dying; });
}

bool RankTable::any_attached() const noexcept {
  return std::any_of(processes_.begin(), processes_.end(), [this](const RankProcess& process) {
    return process.any_at(region_, RankPhase::attached) || process.any_at(region_, RankPhase::finished);
  });
}

bool RankTable::any_waits() const noexcept {
  return std::any_of(processes_.begin(), processes_.end(), [this](const RankProcess& process) {
    return process.running && process.any_at(region_, RankPhase::attached);
  });
}

const RankProcess* RankTable::unattached() const noexcept {
  const auto who = std::find_if(processes_.begin(), processes_.end(), [this](const RankProcess& process) {
    return !process.running && process.any_at(region_, RankPhase::starting);
  });
  return who == processes_.end() ? nullptr : &*who;
}

}  // namespace coracle::internals
