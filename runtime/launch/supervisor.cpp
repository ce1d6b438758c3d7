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

#include "runtime/job/crash_report.hpp"
#include "runtime/launch/crash_text.hpp"
#include "runtime/launch/hang_report.hpp"
#include "runtime/launch/process_state.hpp"
#include "runtime/launch/say.hpp"
#include "runtime/launch/wake.hpp"

namespace coracle::internals {
namespace {

using namespace std::chrono_literals;

constexpr auto kGrace = 300ms;         // between SIGTERM and SIGKILL
constexpr auto kGraceOfDying = 2s;     // for ranks that are ending by themselves, to tell why
constexpr auto kKillPatience = 10s;    // for the kernel to end what was killed
constexpr auto kLookForHangs = 500ms;  // see Supervisor::on_deadlines
constexpr auto kSourcePatience = 1500ms;
constexpr int kTimedOut = 124;  // as timeout(1)

std::string text_of(const std::chrono::nanoseconds& time) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return milliseconds % 1000 == 0 ? fmt::format("{} s", milliseconds / 1000) : fmt::format("{} ms", milliseconds);
}

std::string text_of_stop(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

/// "SIGKILL (from outside, or because memory ran out)" for those who wrote no crash text.
std::string text_of_signal(int signal) {
  if (signal == SIGKILL) return "SIGKILL (from outside, or because memory ran out: see dmesg)";
  const std::string name = signal_name(signal);
  return fmt::format("{} ({})", name == "signal" ? fmt::format("signal {}", signal) : name, ::strsignal(signal));
}

}  // namespace

std::string unattached_text(const RankProcess& process) {
  return process.name() + " ended without calling coracle::run, while others did: they would wait for it for ever";
}

Supervisor::Supervisor(const JobRegion& region, SignalPipe& signals, Options options)
    : region_(region), signals_(signals), options_(std::move(options)), stopped_(region) {
  if (options_.timeout)
    deadline_ = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(*options_.timeout);
}

void Supervisor::add(pid_t pid, std::uint32_t first_rank, std::uint32_t ranks) {
  index_of_[pid] = processes_.size();
  processes_.push_back({pid, first_rank, ranks, true});
  ++running_;
  // Too late for the signals that all others have had.
  if (ending_) processes_.back().signal(all_killed_ ? SIGKILL : SIGTERM);
}

void Supervisor::accompany(HelperProcess& helper) {
  helpers_.push_back(&helper);
  options_.poll_handlers.push_back(&helper);
}

bool Supervisor::step() {
  while (const int signal = signals_.next()) on_signal(signal);
  for (PollHandler* handler : options_.poll_handlers) handler->handle();
  on_deadlines();
  return !ending_;
}

void Supervisor::abandon(int exit_status) {
  if (asked_to_end_) return kill_all();
  asked_to_end_ = true;
  if (!ending_) end_job(exit_status);
}

int Supervisor::run() {
  step();
  while (running_ > 0) {
    wait_for(signals_.fd(), options_.poll_handlers, wait_ms());
    step();
    if (gives_up()) break;
  }
  finish_helpers();
  say_how_it_ended();
  return exit_status_;
}

/// What the kernel does not end in time is left to it. Counted from the kill, which may itself have been late.
bool Supervisor::gives_up() {
  if (!all_killed_ || SteadyClock::now() <= killed_at_ + kKillPatience || running_ == 0) return false;
  for (const RankProcess& process : processes_)
    if (process.running)
      say("{} was killed but does not end within {} s: it is {}; giving it up", process.name(), kKillPatience / 1s,
          whereabouts(process.pid));
  return true;
}

/// They take no place among what failed first, since ranks that used them have failed then; at the end, they may.
void Supervisor::finish_helpers() {
  for (HelperProcess* helper : helpers_) {
    const std::string failure = helper->finish(ending_ || failures_ > 0);
    if (failure.empty() || ending_ || failures_ > 0) continue;
    failures_ = 1;
    exit_status_ = 1;
    accuse({failure, 1});
  }
}

int Supervisor::wait_ms() const {
  auto until = SteadyClock::time_point::max();
  if (ending_) {
    until = all_killed_ ? killed_at_ + kKillPatience : kill_at();
  } else {
    if (deadline_) until = *deadline_;
    if (const auto look = stopped_.next_look()) until = std::min(until, *look);
    if (unattached_ended_) until = std::min(until, SteadyClock::now() + kLookForHangs);
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
    accuse({fmt::format("{}: ending the job", signal_name(signal)), 128 + signal, false, true});
  tell_verdict();
  abandon(128 + signal);
}

void Supervisor::report() {
  report_waits(region_, processes_, options_.program, [this] {
    for (PollHandler* handler : options_.poll_handlers) handler->handle();
  });
}

void Supervisor::stop_all() {
  all_stopped_ = true;
  stopped_.pause();
  signal_all(SIGSTOP);
}

void Supervisor::continue_all() {
  signal_all(SIGCONT);
  for (RankProcess& process : processes_) process.note_stop(0);
  all_stopped_ = false;
}

void Supervisor::on_deadlines() {
  const auto now = SteadyClock::now();
  if (ending_) {
    if (!all_killed_ && now >= kill_at()) kill_all();
    return tell_verdict();
  }
  if (!all_stopped_) stopped_.look(processes_);
  if (deadline_ && now >= *deadline_ && running_ > 0) {
    say("the job has not ended within {}; this is what its ranks await:", text_of(options_.timeout.value_or(0ns)));
    report();
    ++failures_;
    accuse({"", kTimedOut, false, true});
    end_job(kTimedOut);
    return;
  }
  // A rank that ended well without Coracle is no mistake (any program may be run), unless others wait for it.
  const RankProcess* who = options_.leaves_unattached ? nullptr : unattached();
  if (who == nullptr || !anyone_waits()) return;
  ++failures_;
  accuse({unattached_text(*who), 1, false});
  end_job(exit_status_);
}

bool Supervisor::anyone_waits() const noexcept {
  return std::any_of(processes_.begin(), processes_.end(), [this](const RankProcess& process) {
    return process.running && process.any_at(region_, RankPhase::attached);
  });
}

const RankProcess* Supervisor::unattached() const noexcept {
  if (!unattached_ended_) return nullptr;
  const auto who = std::find_if(processes_.begin(), processes_.end(), [this](const RankProcess& process) {
    return !process.running && process.any_at(region_, RankPhase::starting);
  });
  return who == processes_.end() ? nullptr : &*who;
}

HealthAnswer Supervisor::health(std::uint32_t rank) noexcept {
  HealthAnswer answer;
  if (!region_.is_local(rank)) return answer;
  answer.health = RankHealth::starting;
  for (RankProcess& process : processes_) {
    if (!process.holds(rank)) continue;
    answer.exit_status = process.exit_status;
    const bool stopped = !all_stopped_ && StoppedRanks::is_stopped(process);
    if (stopped) StoppedRanks::note_question(process);
    const auto since = stopped ? process.awaited_for : SteadyClock::now() - process.since;
    const auto since_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
    answer.since_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(since_ms, 0));
    // acquire: pairs with the rank's release when it comes to the phase.
    const bool attached = region_.block(rank).phase.load(std::memory_order_acquire) != RankPhase::starting;
    answer.health = !process.running ? RankHealth::ended
                    : stopped        ? RankHealth::stopped
                    : attached       ? RankHealth::running
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
    if (found == index_of_.end()) {  // no rank: one of the helpers' children
      for (HelperProcess* const helper : helpers_)
        if (helper->ended(info.si_pid, ExitStatus::from_wait(status))) break;
      continue;
    }
    if (options_.reaped) options_.reaped(info.si_pid);
    const std::size_t index = found->second;
    index_of_.erase(found);
    const ExitStatus exit = ExitStatus::from_wait(status);
    RankProcess& process = processes_[index];
    process.running = false;
    process.since = SteadyClock::now();
    process.given_up &= exit.signal == SIGKILL;
    process.exit_status = process.given_up ? kGivenUpStatus : exit.signal != 0 ? 128 + exit.signal : exit.code;
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
    process.note_stop(info.si_code != CLD_CONTINUED ? info.si_status : 0);
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

/// By a signal from here, or in the course of an end that was not its doing. What was dying before has its own reason.
bool Supervisor::ended_for_us(const Ended& ended) const noexcept {
  if (!ending_ || processes_[ended.index].dying) return false;
  return asked_to_end_ || ended.status.signal == SIGTERM || ended.status.signal == SIGKILL;
}

void Supervisor::judge(const std::vector<Ended>& ended) {
  const bool was_ending = ending_;
  const std::size_t before = failures_;
  for (const Ended& one : ended) {
    const RankProcess& process = processes_[one.index];
    if (one.status.ok() && !ended_too_early(one)) {
      unattached_ended_ |= process.any_at(region_, RankPhase::starting);
      continue;
    }
    if (ended_for_us(one)) continue;
    ++failures_;
    if (was_ending && !process.dying) continue;  // a consequence of the end
    fail(one);
    if (survives() && !was_ending) announce_loss(process);
  }
  if (failures_ > before && !was_ending && !survives()) end_job(exit_status_);
  tell_verdict();
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
  wake_all_regardless(region_);
}

/// Of several ranks in one process those of the crash that ended it, else of the likeliest cause.
FailureRecord Supervisor::failure_record(const RankProcess& process) const {
  FailureRecord best;
  for (std::uint32_t rank = process.first_rank; rank < process.first_rank + process.ranks; ++rank) {
    const RankBlock& block = region_.block(rank);
    // acquire: pairs with the rank's release after the text.
    const std::uint32_t bytes = block.crash_bytes.load(std::memory_order_acquire);
    if (bytes == 0 || bytes > block.crash_text.size()) continue;
    FailureRecord words = FailureRecord::parse({block.crash_text.data(), bytes});
    words.rank = rank;
    if (words.outweigh(best)) best = words;
  }
  return best;
}

void Supervisor::fail(const Ended& ended) {
  const RankProcess& process = processes_[ended.index];
  const FailureRecord words = failure_record(process);
  JobFailure failure;
  if (process.given_up) {
    failure = {given_up_text(process), 1, true};
  } else if (ended.status.ok()) {
    failure.text = process.name() +
                   " ended before its coracle::run had returned: others would wait for it for ever "
                   "(don't call exit() in a rank)";
  } else if (ended.status.signal == 0) {
    failure.text = fmt::format("{} exited with status {}", process.name(), ended.status.code);
    failure.exit_status = ended.status.code;
    failure.for_others = words.for_others;
  } else {
    failure = failure_by_signal(process, ended.status.signal, words);
    failure.for_others = words.for_others && words.signal == ended.status.signal;
  }
  failure.when_ns = words.when_ns;
  accuse(failure, ended.status.signal != 0 ? words.crash : std::string_view());
}

std::string Supervisor::given_up_text(const RankProcess& process) const {
  return fmt::format(
      "{} was stopped by {}, while others ran and waited for it for {}: it is given up for lost, and was killed "
      "(continue it sooner, by SIGCONT, or let others wait longer, by --silence)",
      process.name(), text_of_stop(process.stop_signal),
      text_of(std::chrono::nanoseconds(region_.shape().network.silence_limit_ns)));
}

JobFailure Supervisor::failure_by_signal(const RankProcess& process, int signal, const FailureRecord& words) const {
  const bool by_us = ending_ && words.when_ns != 0 && (signal == SIGTERM || signal == SIGKILL);
  if (by_us && words.signal == 0)
    return {fmt::format("{} failed by an error, and was killed because it did not end", process.name())};
  if (by_us) signal = words.signal;  // while it described its crash
  const std::string_view headline = words.crash.substr(0, words.crash.find('\n'));
  const std::string by_name = signal_name(signal);
  const bool told = headline.substr(0, by_name.size()) == by_name;
  return {fmt::format("{} was killed by {}",
                      words.crash.empty() ? process.name() : fmt::format("rank {} (pid {})", words.rank, process.pid),
                      told ? std::string(headline) : text_of_signal(signal)),
          128 + signal, true};
}

/// The failure becomes the verdict, unless another one outweighs it. Where the job goes on without the rank it is told
/// in any case, and at once.
void Supervisor::accuse(const JobFailure& failure, std::string_view details) {
  const bool goes_on = survives() && !ending_ && !failure.asked;
  const bool outweighs = !verdict_ || failure.outweighs(*verdict_);
  if (outweighs) {
    verdict_ = failure;
    details_ = details;
    exit_status_ = failure.exit_status;
    told_ = goes_on;
  }
  if (goes_on) tell(failure);
}

/// Once, and so not while a rank is dying that may prove to be the cause. The head of several nodes can't wait for
/// that, and is told again.
void Supervisor::tell_verdict() {
  const bool is_sure = options_.failed || running_ == 0 || !any_dying();
  if (!verdict_ || told_ || (!is_sure && !verdict_->asked)) return;
  told_ = true;
  tell(*verdict_);
}

void Supervisor::tell(const JobFailure& failure) {
  if (options_.failed)
    options_.failed(failure);
  else if (!failure.text.empty())
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
  ended_at_ = SteadyClock::now();
  note_dying();
  for (const RankProcess& process : processes_)
    if (process.running && !process.dying) process.signal(SIGTERM);
  signal_all(SIGCONT);  // one that is stopped takes the SIGTERM only then
}

/// What fails because of a rank does so only when that is past saving, by its own words or the kernel's: so the cause
/// is among these, if it has not been reaped. Whoever dies later dies of the end.
void Supervisor::note_dying() {
  for (RankProcess& process : processes_) {
    if (!process.running) continue;
    const FailureRecord words = failure_record(process);
    process.dying = (words.when_ns != 0 && !words.for_others) || ProcessState::of(process.pid).is_ending();
  }
}

bool Supervisor::any_dying() const noexcept {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const RankProcess& process) { return process.running && process.dying; });
}

Supervisor::SteadyClock::time_point Supervisor::kill_at() const noexcept {
  return ended_at_ + (any_dying() ? SteadyClock::duration(kGraceOfDying) : SteadyClock::duration(kGrace));
}

void Supervisor::kill_all() {
  signal_all(SIGKILL);
  if (!std::exchange(all_killed_, true)) killed_at_ = SteadyClock::now();
}

void Supervisor::signal_all(int signal) const {
  for (const RankProcess& process : processes_)
    if (process.running) process.signal(signal);
}

std::string Supervisor::crash_details() const {
  return details_.empty() ? std::string() : readable_crash(details_, options_.program, kSourcePatience).details;
}

/// After the end, since looking up source lines takes a while.
void Supervisor::say_how_it_ended() {
  running_ = 0;  // those that are given up have no more to tell
  tell_verdict();
  if (options_.failed || (!ending_ && failures_ == 0)) return;
  write_to_user(crash_details());
  if (failures_ > 1) say("{} other ranks failed too", failures_ - 1);
  if (region_.shape().placement == Placement::sim && exit_status_ > 128)
    say("seed {} repeats this", region_.shape().seed);  // the program could not say so itself
  say("job ended, exit status {}", exit_status_);
}

}  // namespace coracle::internals
