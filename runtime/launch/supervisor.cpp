// What happens to a job: exits, crashes, signals and time limits, one after another.
#include "runtime/launch/supervisor.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/job/backtrace_text.hpp"
#include "runtime/job/failure_record.hpp"
#include "runtime/launch/job_failure.hpp"
#include "runtime/launch/processes.hpp"
#include "runtime/launch/rank_process.hpp"
#include "runtime/launch/rank_reports.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {
namespace {

using namespace std::chrono_literals;

constexpr auto kGrace = 300ms;         // between SIGTERM and SIGKILL
constexpr auto kGraceOfDying = 2s;     // for ranks that are ending by themselves, to tell why
constexpr auto kKillPatience = 10s;    // for the kernel to end what was killed
constexpr auto kLookForWaits = 500ms;  // see Supervisor::look_for_waits
constexpr auto kSourcePatience = 1500ms;
constexpr int kTimedOut = 124;  // as timeout(1)

/// For so long this thread has run.
std::chrono::nanoseconds processor_time() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

Supervisor::Supervisor(const JobRegion& region, LauncherLoop& loop, Options options)
    : region_(region),
      loop_(loop),
      options_(std::move(options)),
      ranks_(region, options_.reaped),
      stopped_(region),
      verdict_([this](const JobFailure& failure) {
        if (options_.failed)
          options_.failed(failure);
        else if (!failure.text.empty())
          say("{}", failure.text);
      }),
      states_(
          region, ranks_, reaping_, [this] { return ending_ || all_stopped_; }, options_.programs) {}

Task<int> Supervisor::run(Task<> start) {
  std::exception_ptr failure;
  try {
    co_await with_services([this, &start](Scope& services) { return supervise(services, std::move(start)); });
  } catch (...) {
    failure = std::current_exception();
  }
  services_ = nullptr;
  if (failure) std::rethrow_exception(failure);
  finish();
  co_return verdict_.exit_status();
}

Task<> Supervisor::supervise(Scope& services, Task<> start) {
  services_ = &services;
  services.spawn(take_signals());
  if (options_.timeout) services.spawn(limit_time());
  // In `sim` all ranks are one process's, which knows by itself when nothing can happen any more.
  const bool simulated = region_.shape().placement == Placement::sim;
  if (options_.stall && !simulated) services.spawn(stall_watch_.serve(*options_.stall));
  if (options_.mpi != nullptr && !simulated) services.spawn(look_for_other_mpi());
  co_await start;
  co_await changed_.wait([this] { return ranks_.running() == 0 || given_up_; });
}

/// A timer that is due fires after all that has come before it has been seen.
Task<bool> Supervisor::may_start() {
  co_await sleep_for(0ns);
  const Mutex::Lock nobody_reports = co_await reaping_.lock();
  co_return !ending_;
}

void Supervisor::refuse(const std::string& reason) {
  if (options_.refused)
    options_.refused(reason);
  else
    say("{}", reason);
  abandon(1);
}

void Supervisor::add(pid_t pid, std::uint32_t first_rank, std::uint32_t ranks) {
  const RankProcess& process = ranks_.add(pid, first_rank, ranks);
  // Too late for the signals that all others have had.
  if (ending_) process.signal(all_killed_ ? SIGKILL : SIGTERM);
}

void Supervisor::accompany(HelperProcess& helper) {
  ranks_.add(helper);
  services_->spawn(helper.serve(loop_.io()));
}

void Supervisor::abandon(int exit_status) {
  if (services_ == nullptr) return;
  if (std::exchange(asked_to_end_, true)) return kill_all();
  if (ending_) return;
  verdict_.set_exit_status(exit_status);
  end_job();
}

Task<> Supervisor::take_signals() {
  for (;;) {
    const int signal = co_await loop_.signal();
    if (signal == SIGUSR1) {
      say("what the ranks await, as asked by SIGUSR1:");
      co_await report();
    } else {
      const Mutex::Lock nobody_reports = co_await reaping_.lock();
      on_signal(signal);
    }
  }
}

void Supervisor::on_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      return reap();
    case SIGTSTP:
      // Ranks lead process groups of their own, so that the terminal's Ctrl-Z does not reach them.
      stop_all();
      ::raise(SIGSTOP);
      return continue_all();
    default:
      break;
  }
  if (!asked_to_end_ && !ending_)
    verdict_.add({fmt::format("{}: ending the job", signal_name(signal)), 128 + signal, false, true});
  tell_verdict();
  abandon(128 + signal);
}

Task<> Supervisor::report() {
  const Mutex::Lock nobody_reaps = co_await reaping_.lock();
  co_await report_waits(region_, ranks_.all(), options_.programs);
}

void Supervisor::stop_all() {
  all_stopped_ = true;
  stopped_.pause();
  ranks_.signal_all(SIGSTOP);
}

void Supervisor::continue_all() {
  ranks_.signal_all(SIGCONT);
  for (RankProcess& process : ranks_.all()) process.note_stop(0);
  states_.forget_times();
  all_stopped_ = false;
}

Task<> Supervisor::limit_time() {
  const auto limit = options_.timeout.value_or(0ns);
  co_await sleep_for(limit);
  // The last rank may have ended before the limit, while this launcher did not run: then the job has ended in time.
  const bool ended = !ranks_.all().empty() && ranks_.running() == 0;
  if (ending_ || ended) co_return;
  say("the job has not ended within {}; this is what its ranks await:", text_of(limit));
  if (region_.shape().placement != Placement::sim) co_await stall_watch_.tell_why();
  co_await report();
  if (ending_) co_return;
  ++failures_;
  verdict_.add({"", kTimedOut, false, true});
  end_job();
}

/// A rank that ended well without Coracle is no mistake (any program may be run), unless others wait for it.
Task<> Supervisor::look_for_waits() {
  for (;; co_await sleep_for(kLookForWaits)) {
    const Mutex::Lock nobody_reports = co_await reaping_.lock();
    if (ending_) co_return;
    if (ranks_.unattached() != nullptr && ranks_.any_waits()) break;
  }
  ++failures_;
  verdict_.add({unattached_text(*ranks_.unattached())}, survives());
  end_job();
}

/// Ranks that another MPI takes for jobs of their own would end well, one like the other, and nobody would know.
/// MPI_Init takes longer than the first looks are apart; who has come to Coracle is looked at no more. What a rank has
/// started may be meant to be alone: of that is only told.
Task<> Supervisor::look_for_other_mpi() {
  // All that share an address space have loaded the same, as far as can be seen.
  const bool is_shared = region_.shape().placement == Placement::pvas;
  const std::size_t at_once = is_shared ? 1 : 8;
  constexpr std::size_t kSureLooks = 8;
  constexpr int kShare = 20;  // of the launcher's time, which many ranks need while they start
  constexpr std::chrono::nanoseconds kLongest = 1s;
  std::size_t turn = 0;
  std::size_t seen = 0;
  std::chrono::nanoseconds took{0};
  for (std::chrono::nanoseconds pause = 40ms;; pause = std::max(kShare * took, std::min(pause * 5 / 4, kLongest))) {
    co_await sleep_for(pause);
    const Mutex::Lock nobody_reaps = co_await reaping_.lock();
    if (ending_) co_return;
    const std::chrono::nanoseconds begin = processor_time();
    std::vector<const RankProcess*> suspects;
    for (const RankProcess& process : ranks_.all())
      if (process.running && process.any_at(region_, RankPhase::starting)) suspects.push_back(&process);
    for (std::size_t i = 0; i < std::min(at_once, suspects.size()); ++i) {
      const RankProcess& process = *suspects[turn++ % suspects.size()];
      const std::optional<OtherMpi> other = other_mpi_of(process.pid);
      if (!other) continue;
      const bool may_be_another = is_shared && !other->is_of_child;
      other_mpi_ = {process.first_rank, options_.mpi->words_of(may_be_another ? "a rank" : process.name(), *other)};
      if (other->is_started && !other->is_of_child && !survives()) {
        ++failures_;
        verdict_.add({other_mpi_.words});
        end_job();
        co_return;
      }
      if (++seen == kSureLooks || other->is_started) tell_other_mpi();
      break;
    }
    took = processor_time() - begin;
  }
}

void Supervisor::tell_other_mpi() {
  if (!other_mpi_.words.empty() && !std::exchange(other_mpi_.is_told, true)) say("{}", other_mpi_.words);
}

HealthAnswer Supervisor::health(std::uint32_t rank) noexcept {
  HealthAnswer answer;
  if (!region_.is_local(rank)) return answer;
  answer.health = RankHealth::starting;
  for (RankProcess& process : ranks_.all()) {
    if (!process.holds(rank)) continue;
    answer.exit_status = process.exit_status;
    const bool stopped = !all_stopped_ && StoppedRanks::is_stopped(process);
    if (stopped) StoppedRanks::note_question(process);
    const auto since = stopped ? process.awaited_for : std::chrono::steady_clock::now() - process.since;
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

Task<> Supervisor::look_at_stopped() {
  while (const auto next = stopped_.next_look()) {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the loop's condition
    co_await sleep_for(*next - StoppedRanks::SteadyClock::now());
    // Who goes on during a report is noted only after it.
    const Mutex::Lock nobody_reports = co_await reaping_.lock();
    if (ending_) co_return;
    ranks_.note_stops(all_stopped_);
    if (!all_stopped_) stopped_.look(ranks_.all());
  }
  looking_ = false;
}

void Supervisor::reap() {
  ranks_.note_stops(all_stopped_);
  if (!ending_ && !all_stopped_) stopped_.look(ranks_.all());
  if (stopped_.next_look() && !std::exchange(looking_, true)) services_->spawn(look_at_stopped());
  judge(ranks_.reap(ending_));
  changed_.notify_all();
}

void Supervisor::judge(const std::vector<RankTable::Ended>& ended) {
  const bool was_ending = ending_;
  // By a signal from here, or in the course of an end that was not its doing. What was dying before has its own reason.
  const auto ended_for_us = [this](const RankProcess& process, const ExitStatus& status) {
    if (!ending_ || process.dying) return false;
    return asked_to_end_ || status.signal == SIGTERM || status.signal == SIGKILL;
  };
  const std::size_t before = failures_;
  bool unattached = false;
  for (const RankTable::Ended& one : ended) {
    const RankProcess& process = *one.rank;
    if (one.status.ok() && !process.any_at(region_, RankPhase::attached)) {
      unattached |= process.any_at(region_, RankPhase::starting);
      continue;
    }
    if (ended_for_us(process, one.status)) continue;
    ++failures_;
    if (was_ending && !process.dying) continue;  // a consequence of the end
    const FailureRecord record = failure_record_of(region_, process);
    verdict_.add(failure_of(region_, process, one.status, record, ending_), survives() && !was_ending,
                 one.status.signal != 0 ? record.crash : std::string_view());
    if (survives() && !was_ending) announce_loss(region_, process);
  }
  if (failures_ > before && !was_ending && !survives()) end_job();
  tell_verdict();
  if (!unattached || std::exchange(unattached_ended_, true)) return;
  if (!options_.unattached)
    services_->spawn(look_for_waits());
  else if (const RankProcess* const who = ranks_.unattached())
    options_.unattached(*who);
}

/// The head of several nodes can't wait until a rank that is dying, and may prove to be the cause, has been reaped: it
/// is told again.
void Supervisor::tell_verdict() {
  verdict_.tell(options_.failed || ranks_.running() == 0 || given_up_ || !ranks_.any_dying());
}

/// What fails because of a rank does so only when that is past saving: so the cause is among those that are dying now,
/// if it has not been reaped. Whoever dies later dies of the end.
void Supervisor::end_job() {
  if (std::exchange(ending_, true)) return;
  ranks_.note_dying();
  for (const RankProcess& process : ranks_.all())
    if (process.running && !process.dying) process.signal(SIGTERM);
  ranks_.signal_all(SIGCONT);  // one that is stopped takes the SIGTERM only then
  tell_verdict();
  services_->spawn(end_in_time());
}

/// What the kernel does not end in time is left to it.
Task<> Supervisor::end_in_time() {
  if (!co_await finishes_within(kGrace, changed_.wait([this] { return all_killed_; })))
    co_await finishes_within(kGraceOfDying - kGrace,
                             changed_.wait([this] { return all_killed_ || !ranks_.any_dying(); }));
  if (!all_killed_) kill_all();
  co_await sleep_for(kKillPatience);
  for (const RankProcess& process : ranks_.all())
    if (process.running)
      say("{} was killed but does not end within {} s: it is {}; giving it up", process.name(), kKillPatience / 1s,
          whereabouts(process.pid));
  given_up_ = true;
  changed_.notify_all();
}

void Supervisor::kill_all() {
  ranks_.signal_all(SIGKILL);
  all_killed_ = true;
  changed_.notify_all();
}

std::string Supervisor::crash_details() const {
  const std::string& details = verdict_.details();
  return details.empty() ? std::string() : readable_crash(details, options_.programs, kSourcePatience).details;
}

/// The source lines of a crash come last, since looking them up takes a while.
void Supervisor::finish() {
  const std::string failure = ranks_.finish_helpers(ending_ || failures_ > 0);
  if (!failure.empty()) {
    failures_ = 1;
    verdict_.add({failure}, survives());
  }
  // (Who has come to Coracle after all had no use for the other.)
  if (!ending_ && !other_mpi_.words.empty() &&
      region_.block(other_mpi_.rank).phase.load(std::memory_order_relaxed) == RankPhase::starting)
    tell_other_mpi();
  tell_verdict();
  if (options_.failed || (!ending_ && failures_ == 0)) return;
  write_to_user(crash_details());
  if (failures_ > 1) say("{} other ranks failed too", failures_ - 1);
  if (region_.shape().placement == Placement::sim && verdict_.exit_status() > 128)
    say("seed {} repeats this", region_.shape().seed);  // the program could not say so itself
  say("job ended, exit status {}", verdict_.exit_status());
}

}  // namespace coracle::internals
