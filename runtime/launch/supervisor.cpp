// What happens to a job: exits, crashes, signals and time limits, one after another.
#include "runtime/launch/supervisor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "runtime/crash_report.hpp"
#include "runtime/launch/crash_text.hpp"
#include "runtime/launch/hang_report.hpp"
#include "runtime/launch/say.hpp"

namespace coracle {
namespace {

using namespace std::chrono_literals;

constexpr auto kGrace = 300ms;         // between SIGTERM and SIGKILL
constexpr auto kKillPatience = 10s;    // for the kernel to end what was killed
constexpr auto kLookForHangs = 500ms;  // see Supervisor::on_deadlines
constexpr auto kSourcePatience = 1500ms;
constexpr int kTimedOut = 124;  // as timeout(1)

std::string text_of(const std::chrono::nanoseconds& time) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return milliseconds % 1000 == 0 ? fmt::format("{} s", milliseconds / 1000) : fmt::format("{} ms", milliseconds);
}

/// "SIGKILL (from outside, or because memory ran out)" for those who wrote no crash text.
std::string text_of_signal(int signal) {
  if (signal == SIGKILL) return "SIGKILL (from outside, or because memory ran out: see dmesg)";
  const std::string name = signal_name(signal);
  return fmt::format("{} ({})", name == "signal" ? fmt::format("signal {}", signal) : name, ::strsignal(signal));
}

}  // namespace

Supervisor::Supervisor(const JobRegion& region, SignalPipe& signals, Options options)
    : region_(region), signals_(signals), options_(std::move(options)) {
  if (options_.timeout)
    deadline_ = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(*options_.timeout);
}

void Supervisor::add(pid_t pid, std::uint32_t first_rank, std::uint32_t ranks) {
  index_of_[pid] = processes_.size();
  processes_.push_back({pid, first_rank, ranks, true});
  ++running_;
}

bool Supervisor::step() {
  while (const int signal = signals_.next()) on_signal(signal);
  on_deadlines();
  return !ending_;
}

void Supervisor::abandon(int exit_status) {
  asked_to_end_ = true;
  end_job(exit_status);
}

int Supervisor::run() {
  step();
  while (running_ > 0) {
    pollfd wanted{signals_.fd(), POLLIN, 0};
    ::poll(&wanted, 1, wait_ms());  // EINTR: a signal, which is in the pipe too
    step();
    if (all_killed_ && SteadyClock::now() > kill_at_ + kKillPatience) {
      for (const RankProcess& process : processes_)
        if (process.running) say("{} was killed but does not end; giving it up", process.name());
      break;
    }
  }
  say_last_words();
  return exit_status_;
}

int Supervisor::wait_ms() const {
  auto until = SteadyClock::time_point::max();
  if (ending_) {
    until = all_killed_ ? kill_at_ + kKillPatience : kill_at_;
  } else {
    if (deadline_) until = *deadline_;
    if (bystander_ended_) until = std::min(until, SteadyClock::now() + kLookForHangs);
  }
  if (until == SteadyClock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, INT_MAX));
}

void Supervisor::on_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      reap();
      return;
    case SIGUSR1:
      say("what the ranks await, as asked by SIGUSR1:");
      report_waits(region_, processes_, options_.program);
      return;
    case SIGTSTP:
      stop_and_continue();
      return;
    default:
      break;
  }
  if (asked_to_end_) {
    signal_all(SIGKILL);
    all_killed_ = true;
    return;
  }
  asked_to_end_ = true;
  if (ending_) return;
  say("{}: ending the job", signal_name(signal));
  end_job(128 + signal);
}

/// Ranks lead process groups of their own, so that the terminal's Ctrl-Z does not reach them.
void Supervisor::stop_and_continue() {
  signal_all(SIGSTOP);
  ::raise(SIGSTOP);
  signal_all(SIGCONT);
}

void Supervisor::on_deadlines() {
  const auto now = SteadyClock::now();
  if (ending_) {
    if (!all_killed_ && now >= kill_at_) {
      signal_all(SIGKILL);
      all_killed_ = true;
    }
    return;
  }
  if (deadline_ && now >= *deadline_ && running_ > 0) {
    say("the job has not ended within {}; this is what its ranks await:", text_of(options_.timeout.value_or(0ns)));
    report_waits(region_, processes_, options_.program);
    failures_ = 1;
    end_job(kTimedOut);
    return;
  }
  // A rank that ended well without Coracle is no mistake (any program may be run), unless others wait for it.
  if (!bystander_ended_) return;
  const auto waits = [this](const RankProcess& process) {
    return process.running && process.any_at(region_, RankPhase::attached);
  };
  const auto bystander = [this](const RankProcess& process) {
    return !process.running && process.any_at(region_, RankPhase::starting);
  };
  const auto who = std::find_if(processes_.begin(), processes_.end(), bystander);
  if (who == processes_.end() || std::none_of(processes_.begin(), processes_.end(), waits)) return;
  say("{} ended without calling coracle::run, while others did: they would wait for it for ever", who->name());
  failures_ = 1;
  end_job(1);
}

/// The next child that has ended, reaped. One that failed takes its process group with it, while its number is still
/// its own.
std::optional<Supervisor::Ended> Supervisor::reap_one() {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return std::nullopt;
    }
    if (info.si_pid == 0) return std::nullopt;
    const auto found = index_of_.find(info.si_pid);
    const bool failed = info.si_code != CLD_EXITED || info.si_status != 0;
    if (found != index_of_.end() && (failed || ending_)) ::kill(-info.si_pid, SIGKILL);
    int status = 0;
    while (::waitpid(info.si_pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (found == index_of_.end()) continue;  // no rank
    if (options_.reaped) options_.reaped(info.si_pid);
    const std::size_t index = found->second;
    index_of_.erase(found);
    processes_[index].running = false;
    --running_;
    return Ended{index, ExitStatus::from_wait(status)};
  }
}

void Supervisor::reap() {
  std::vector<Ended> ended;
  for (;;) {
    const std::optional<Ended> one = reap_one();
    if (!one) break;
    ended.push_back(*one);
  }
  judge(ended);
}

bool Supervisor::ended_too_early(const Ended& ended) const {
  return ended.status.ok() && processes_[ended.index].any_at(region_, RankPhase::attached);
}

void Supervisor::judge(const std::vector<Ended>& ended) {
  const Ended* worst = nullptr;
  const auto badness = [](const Ended& one) { return one.status.signal != 0 ? 3 : one.status.code != 0 ? 2 : 1; };
  for (const Ended& one : ended) {
    if (one.status.ok() && !ended_too_early(one)) {
      bystander_ended_ |= processes_[one.index].any_at(region_, RankPhase::starting);
      continue;
    }
    const bool ended_by_us = ending_ && (one.status.signal == SIGTERM || one.status.signal == SIGKILL);
    if (ended_by_us || asked_to_end_) continue;
    ++failures_;
    // Of those that ended at about the same time a crash is likelier to be the cause than an exit.
    if (worst == nullptr || badness(one) > badness(*worst)) worst = &one;
  }
  if (!ending_ && worst != nullptr) fail(*worst);
}

std::string Supervisor::crash_of(const RankProcess& process, std::uint32_t& rank) const {
  for (rank = process.first_rank; rank < process.first_rank + process.ranks; ++rank) {
    const RankBlock& block = region_.block(rank);
    // acquire: pairs with the crash handler's release after the text.
    const std::uint32_t bytes = block.crash_bytes.load(std::memory_order_acquire);
    if (bytes > 0 && bytes <= block.crash_text.size()) return {block.crash_text.data(), bytes};
  }
  return {};
}

void Supervisor::fail(const Ended& ended) {
  const RankProcess& process = processes_[ended.index];
  std::string name = process.name();
  if (ended.status.ok()) {
    say("{} ended before its coracle::run had returned: others would wait for it for ever (don't call exit() in a "
        "rank)",
        name);
    end_job(1);
    return;
  }
  if (ended.status.signal == 0) {
    say("{} exited with status {}", name, ended.status.code);
    end_job(ended.status.code);
    return;
  }
  std::uint32_t rank = 0;
  details_ = crash_of(process, rank);
  const std::string_view headline = std::string_view(details_).substr(0, details_.find('\n'));
  const std::string by_name = signal_name(ended.status.signal);
  if (!details_.empty()) name = fmt::format("rank {} (pid {})", rank, process.pid);
  if (headline.substr(0, by_name.size()) == by_name) {
    say("{} was killed by {}", name, headline);
  } else {
    say("{} was killed by {}", name, text_of_signal(ended.status.signal));
  }
  end_job(128 + ended.status.signal);
}

bool Supervisor::anyone_attached() const noexcept {
  return std::any_of(processes_.begin(), processes_.end(), [this](const RankProcess& process) {
    return process.any_at(region_, RankPhase::attached) || process.any_at(region_, RankPhase::finished);
  });
}

void Supervisor::end_job(int exit_status) {
  ending_ = true;
  exit_status_ = exit_status;
  kill_at_ = SteadyClock::now() + kGrace;
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // one that is stopped takes the SIGTERM only then
}

void Supervisor::signal_all(int signal) const {
  for (const RankProcess& process : processes_)
    if (process.running) process.signal(signal);
}

/// After the end, since looking up source lines takes a while.
void Supervisor::say_last_words() {
  if (!ending_) return;
  if (!details_.empty()) write_to_user(readable_crash(details_, options_.program, kSourcePatience).details);
  if (failures_ > 1) say("{} other ranks failed too", failures_ - 1);
  if (region_.shape().placement == Placement::sim && exit_status_ > 128)
    say("seed {} repeats this", region_.shape().seed);  // the program could not say so itself
  say("job ended, exit status {}", exit_status_);
}

}  // namespace coracle
