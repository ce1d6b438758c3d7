// What happens to a job: exits, crashes, signals and time limits, one after another.
#include "runtime/launch/supervisor.hpp"

#include <fmt/format.h>
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

std::string bystander_text(const RankProcess& process) {
  return process.name() + " ended without calling coracle::run, while others did: they would wait for it for ever";
}

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

void Supervisor::accompany(Companion& companion) {
  companions_.push_back(&companion);
  options_.attendants.push_back(&companion);
}

bool Supervisor::step() {
  while (const int signal = signals_.next()) on_signal(signal);
  for (Attendant* attendant : options_.attendants) attendant->attend();
  on_deadlines();
  return !ending_;
}

void Supervisor::abandon(int exit_status) {
  if (asked_to_end_) {
    signal_all(SIGKILL);
    all_killed_ = true;
    return;
  }
  asked_to_end_ = true;
  if (!ending_) end_job(exit_status);
}

int Supervisor::run() {
  step();
  while (running_ > 0) {
    wait_for(signals_.fd(), options_.attendants, wait_ms());
    step();
    if (all_killed_ && SteadyClock::now() > kill_at_ + kKillPatience) {
      for (const RankProcess& process : processes_)
        if (process.running) say("{} was killed but does not end; giving it up", process.name());
      break;
    }
  }
  finish_companions();
  say_last_words();
  return exit_status_;
}

/// They take no place among what failed first, since ranks that used them have failed then; at the end, they may.
void Supervisor::finish_companions() {
  for (Companion* companion : companions_) {
    const std::string failure = companion->finish(ending_ || failures_ > 0);
    if (failure.empty() || ending_ || failures_ > 0) continue;
    failures_ = 1;
    exit_status_ = 1;
    report_failure({failure, 1});
  }
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
      report();
      return;
    case SIGTSTP:
      // Ranks lead process groups of their own, so that the terminal's Ctrl-Z does not reach them.
      stop_all();
      ::raise(SIGSTOP);
      continue_all();
      return;
    default:
      break;
  }
  if (!asked_to_end_ && !ending_)
    report_failure({fmt::format("{}: ending the job", signal_name(signal)), 128 + signal, false, true});
  abandon(128 + signal);
}

void Supervisor::report() {
  report_waits(region_, processes_, options_.program, [this] {
    for (Attendant* attendant : options_.attendants) attendant->attend();
  });
}

void Supervisor::stop_all() {
  all_stopped_ = true;
  signal_all(SIGSTOP);
}

void Supervisor::continue_all() {
  signal_all(SIGCONT);
  for (RankProcess& process : processes_) process.stopped = false;
  all_stopped_ = false;
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
    report();
    failures_ = 1;
    end_job(kTimedOut);
    return;
  }
  // A rank that ended well without Coracle is no mistake (any program may be run), unless others wait for it.
  const RankProcess* who = bystander();
  if (who == nullptr || !anyone_waits()) return;
  failures_ = 1;
  report_failure({bystander_text(*who), 1, false});
  end_job(1);
}

bool Supervisor::anyone_waits() const noexcept {
  return std::any_of(processes_.begin(), processes_.end(), [this](const RankProcess& process) {
    return process.running && process.any_at(region_, RankPhase::attached);
  });
}

const RankProcess* Supervisor::bystander() const noexcept {
  if (!bystander_ended_) return nullptr;
  const auto who = std::find_if(processes_.begin(), processes_.end(), [this](const RankProcess& process) {
    return !process.running && process.any_at(region_, RankPhase::starting);
  });
  return who == processes_.end() ? nullptr : &*who;
}

HealthAnswer Supervisor::health(std::uint32_t rank) const noexcept {
  HealthAnswer answer;
  if (!region_.is_local(rank)) return answer;
  answer.health = RankHealth::starting;
  for (const RankProcess& process : processes_) {
    if (!process.holds(rank)) continue;
    answer.exit_status = process.exit_status;
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - process.since);
    answer.since_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(since.count(), 0));
    // acquire: pairs with the rank's release when it comes to the phase.
    const bool attached = region_.block(rank).phase.load(std::memory_order_acquire) != RankPhase::starting;
    answer.health = !process.running                   ? RankHealth::ended
                    : process.stopped && !all_stopped_ ? RankHealth::stopped
                    : attached                         ? RankHealth::running
                                                       : RankHealth::starting;
  }
  return answer;
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
    if (found == index_of_.end()) {  // no rank: one of the companions' children
      for (Companion* const companion : companions_)
        if (companion->ended(info.si_pid, ExitStatus::from_wait(status))) break;
      continue;
    }
    if (options_.reaped) options_.reaped(info.si_pid);
    const std::size_t index = found->second;
    index_of_.erase(found);
    const ExitStatus exit = ExitStatus::from_wait(status);
    RankProcess& process = processes_[index];
    process.running = false;
    process.since = SteadyClock::now();
    process.exit_status = exit.signal != 0 ? 128 + exit.signal : exit.code;
    --running_;
    return Ended{index, exit};
  }
}

/// Ranks that someone has stopped, or that go on: their peers may ask.
void Supervisor::note_stops() {
  for (siginfo_t info{}; ::waitid(P_ALL, 0, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid != 0;
       info = siginfo_t{}) {
    const auto found = index_of_.find(info.si_pid);
    if (found == index_of_.end() || all_stopped_) continue;
    RankProcess& process = processes_[found->second];
    process.stopped = info.si_code != CLD_CONTINUED;
    process.since = SteadyClock::now();
  }
}

void Supervisor::reap() {
  note_stops();
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
  if (ending_ || worst == nullptr) return;
  if (!survives()) {
    fail(*worst);
    return end_job(exit_status_);
  }
  for (const Ended& one : ended) {
    if (one.status.ok() && !ended_too_early(one)) continue;
    fail(one);
    announce_loss(processes_[one.index]);
  }
}

/// To its peers on this node, and to the owner of their devices; those of other nodes find its connections reset.
void Supervisor::announce_loss(const RankProcess& process) {
  for (std::uint32_t rank = process.first_rank; rank < process.first_rank + process.ranks; ++rank) {
    RankBlock& block = region_.block(rank);
    block.exit_status = process.exit_status;
    // release: pairs with the acquire of whoever has seen `losses` grow.
    block.phase.store(RankPhase::lost, std::memory_order_release);
  }
  // seq_cst, and before the doorbells: see Doorbell.
  region_.losses().fetch_add(process.ranks, std::memory_order_seq_cst);
  for (std::uint32_t rank = region_.first_rank(); region_.is_local(rank); ++rank) region_.block(rank).doorbell.ring();
  region_.device_owner().doorbell.ring();
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
  JobFailure failure;
  if (ended.status.ok()) {
    failure.text = process.name() +
                   " ended before its coracle::run had returned: others would wait for it for ever "
                   "(don't call exit() in a rank)";
  } else if (ended.status.signal == 0) {
    failure.text = fmt::format("{} exited with status {}", process.name(), ended.status.code);
    failure.exit_status = ended.status.code;
  } else {
    failure = failure_by_signal(process, ended.status.signal);
  }
  if (exit_status_ == 0) exit_status_ = failure.exit_status;
  report_failure(failure);
}

JobFailure Supervisor::failure_by_signal(const RankProcess& process, int signal) {
  std::uint32_t rank = 0;
  const std::string crash = crash_of(process, rank);
  if (details_.empty()) details_ = crash;
  const std::string_view headline = std::string_view(crash).substr(0, crash.find('\n'));
  const std::string by_name = signal_name(signal);
  const bool told = headline.substr(0, by_name.size()) == by_name;
  return {fmt::format("{} was killed by {}",
                      crash.empty() ? process.name() : fmt::format("rank {} (pid {})", rank, process.pid),
                      told ? std::string(headline) : text_of_signal(signal)),
          128 + signal, true};
}

void Supervisor::report_failure(const JobFailure& failure) {
  if (options_.failed)
    options_.failed(failure);
  else
    say("{}", failure.text);
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

std::string Supervisor::crash_details() const {
  return details_.empty() ? std::string() : readable_crash(details_, options_.program, kSourcePatience).details;
}

/// After the end, since looking up source lines takes a while.
void Supervisor::say_last_words() {
  if ((!ending_ && failures_ == 0) || options_.failed) return;
  write_to_user(crash_details());
  if (failures_ > 1) say("{} other ranks failed too", failures_ - 1);
  if (region_.shape().placement == Placement::sim && exit_status_ > 128)
    say("seed {} repeats this", region_.shape().seed);  // the program could not say so itself
  say("job ended, exit status {}", exit_status_);
}

}  // namespace coracle
