// Questions to ranks, and what comes back.
#include "runtime/launch/wait_collector.hpp"

#include <signal.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/job/backtrace_text.hpp"
#include "runtime/job/diagnostics.hpp"
#include "runtime/launch/processes.hpp"
#include "runtime/launch/stopped_ranks.hpp"

namespace coracle::internals {
namespace {

using insight::Doing;
using namespace std::chrono_literals;

constexpr auto kAnswerPatience = 200ms;         // of a rank that waits, where the processors are busy
constexpr auto kStarvedPatience = 1s;           // of one that has had none of them since
constexpr std::uint64_t kAnswerNs = 5'000'000;  // of a processor, which an answer takes at most
constexpr auto kPlacePatience = 300ms;
constexpr auto kLinePatience = 4s;  // addr2line reads the whole program, beside others

/// What of a rank is known by its process alone; nothing: it may be asked.
std::optional<Doing> doing_by_process(const JobRegion& region, const RankProcess& process, std::uint32_t rank) {
  if (!process.running) return Doing::ended;
  switch (region.block(rank).phase.load(std::memory_order_acquire)) {  // pairs with the rank's release
    case RankPhase::starting:
      return Doing::starting;
    case RankPhase::finished:
    case RankPhase::lost:
      return Doing::ended;
    case RankPhase::attached:
      break;
  }
  if (process.stop_signal == 0) return std::nullopt;
  // What a debugger holds is its user's affair: it goes on when he wants it to.
  return StoppedRanks::is_stopped(process) ? Doing::stopped : Doing::starting;
}

template <class Function>
void for_each_rank(std::span<const RankProcess> processes, Function function) {
  for (const RankProcess& process : processes)
    for (std::uint32_t rank = process.first_rank; rank < process.first_rank + process.ranks; ++rank)
      function(process, rank);
}

/// The first place in what readable_crashes() has made: "    f() at ../solver.cpp:301".
std::string first_place(std::string_view details) {
  const auto is_in = [](std::string_view file, std::initializer_list<std::string_view> folders) {
    return std::ranges::any_of(folders, [file](auto folder) { return file.find(folder) != std::string_view::npos; });
  };
  std::string other;
  while (!details.empty()) {
    const std::size_t end = std::min(details.find('\n'), details.size());
    std::string_view line = details.substr(0, end);
    details.remove_prefix(std::min(end + 1, details.size()));
    const std::size_t at = line.rfind(" at ");
    if (at == std::string_view::npos) continue;
    line.remove_prefix(at + 4);
    line = line.substr(0, line.find(" (discriminator"));
    if (line.find(':') == std::string_view::npos) continue;
    std::string place(line.substr(line.rfind('/') + 1));
    if (is_in(line, {"./csu/", "./nptl/", "/sysdeps/"})) continue;  // the C library's own, where it has lines
    if (!is_in(line, {"/runtime/core/", "/include/c++/"})) return place;
    if (other.empty()) other = place;
  }
  return other;
}

/// Where there is no line, the function will do: "    compute in ./solver (0x1234)".
std::string first_function(std::string_view details) {
  const std::size_t begin = details.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  details = details.substr(begin, details.find('\n', begin) - begin);
  const std::size_t in = details.find(" in ");
  return std::string(details.substr(0, in));
}

}  // namespace

WaitCollector::WaitCollector(const JobRegion& region, std::vector<std::string> programs)
    : region_(region), programs_(std::move(programs)), seen_(region.ranks()) {}

bool WaitCollector::has_answered(std::uint32_t rank) const noexcept {
  const WaitsAnswer& waits = region_.block(rank).waits;
  // acquire: pairs with the rank's release after the answer. `asked` is this launcher's own.
  return waits.answered.load(std::memory_order_acquire) == waits.asked.load(std::memory_order_relaxed);
}

void WaitCollector::note(std::uint32_t rank, Doing doing, bool changed) noexcept {
  Seen& before = seen(rank);
  if (before.doing == doing && !changed) return;
  before.doing = doing;
  before.since = SteadyClock::now();
  before.function.clear();
  before.place.clear();
  before.stack.clear();
}

void WaitCollector::take_answer(std::uint32_t rank) {
  const WaitsAnswer& answer = region_.block(rank).waits;
  insight::RankWaits waits;
  try {
    waits = insight::decode_waits(
        std::span(answer.answer).first(std::min<std::size_t>(answer.bytes, answer.answer.size())));
  } catch (const Error&) {  // it had no memory for one: then it is known to wait, and not for what
    waits.left_out = 1;
  }
  Seen& before = seen(rank);
  note(rank, Doing::waiting, before.waits.digest != waits.digest || before.waits.call != waits.call);
  before.waits = std::move(waits);
}

std::vector<WaitCollector::Asked> WaitCollector::ask_all(std::span<const RankProcess> processes) {
  std::vector<Asked> asked;
  for_each_rank(processes, [&](const RankProcess& process, std::uint32_t rank) {
    if (const auto doing = doing_by_process(region_, process, rank)) return note(rank, *doing, false);
    RankBlock& block = region_.block(rank);
    block.waits.asked.fetch_add(1, std::memory_order_seq_cst);  // see WaitWitness::falls_asleep
    block.doorbell.ring();
    asked.push_back({rank, process.pid, block.thread.load(std::memory_order_relaxed)});
  });
  return asked;
}

Task<> WaitCollector::look(std::span<const RankProcess> processes) {
  const std::vector<Asked> asked = ask_all(processes);
  const auto end = SteadyClock::now() + kAnswerPatience;
  const auto answered = [this](const Asked& each) { return has_answered(each.rank); };
  for (auto pause = 1ms; !std::ranges::all_of(asked, answered) && SteadyClock::now() < end;
       pause = std::min(2 * pause, 32ms))
    co_await sleep_for(pause);
  co_await await_starved(asked);
  for (const auto& [rank, pid, thread] : asked) {
    if (has_answered(rank)) {
      take_answer(rank);
      continue;
    }
    const std::uint64_t sleeps = region_.block(rank).waits.sleeps.load(std::memory_order_relaxed);
    note(rank, Doing::running, std::exchange(seen(rank).sleeps, sleeps) != sleeps);
  }
}

/// A rank that has not answered may be one that computes, or one that waits and has had no processor to say so.
Task<> WaitCollector::await_starved(std::span<const Asked> asked) {
  struct Silent {
    Asked asked;
    std::uint64_t had_ns;
  };
  std::vector<Silent> silent;
  for (const Asked& each : asked)
    if (!has_answered(each.rank)) silent.push_back({each, processor_ns_of(each.pid, each.thread)});
  const auto end = SteadyClock::now() + kStarvedPatience;
  for (auto pause = 10ms; SteadyClock::now() < end; pause = std::min(2 * pause, 100ms)) {
    std::erase_if(silent, [this](const Silent& each) {
      const auto& [rank, pid, thread] = each.asked;
      const bool is_counted = each.had_ns != 0;
      return has_answered(rank) || !is_counted || processor_ns_of(pid, thread) - each.had_ns >= kAnswerNs ||
             ProcessState::of_thread(pid, thread).letter != 'R';
    });
    if (silent.empty()) co_return;
    co_await sleep_for(pause);
  }
}

Task<> WaitCollector::locate(std::span<const RankProcess> processes, std::span<const std::uint32_t> ranks) {
  std::vector<std::uint32_t> wanted;
  pid_t last = 0;
  for_each_rank(processes, [&](const RankProcess& process, std::uint32_t rank) {
    if (std::ranges::find(ranks, rank) == ranks.end()) return;
    if (seen(rank).doing == Doing::waiting) return wanted.push_back(rank);
    if (seen(rank).doing != Doing::running || has_answered(rank)) return;
    region_.block(rank).running_bytes.store(0, std::memory_order_relaxed);  // of an old report
    wanted.push_back(rank);
    if (std::exchange(last, process.pid) == process.pid) return;  // one question for all of a process
    sigval value{};
    value.sival_int = Diagnostics::kWhereOnly;
    ::sigqueue(process.pid, SIGUSR1, value);
  });
  const auto end = SteadyClock::now() + kPlacePatience;
  const auto told = [this](std::uint32_t rank) {
    return seen(rank).doing != Doing::running || has_answered(rank) ||
           region_.block(rank).running_bytes.load(std::memory_order_acquire) != 0;  // pairs with the handler's release
  };
  while (!std::ranges::all_of(wanted, told) && SteadyClock::now() < end) co_await sleep_for(2ms);
  find_places(wanted);
}

/// Of ranks that run, and of those that wait in functions of an interface.
void WaitCollector::find_places(std::span<const std::uint32_t> ranks) {
  constexpr std::size_t kMost = 64;
  std::vector<std::uint32_t> told;
  std::vector<std::string> raws;
  for (const std::uint32_t rank : ranks) {
    if (told.size() == kMost) break;
    RankBlock& block = region_.block(rank);
    const std::uint32_t bytes = block.running_bytes.exchange(0, std::memory_order_acquire);  // as above
    if (seen(rank).doing == Doing::waiting && !seen(rank).waits.call.empty() && seen(rank).function.empty())
      raws.push_back(seen(rank).waits.call);
    else if (seen(rank).doing == Doing::running && bytes != 0 && bytes <= block.crash_text.size())
      raws.emplace_back(block.crash_text.data(), bytes);
    else
      continue;
    told.push_back(rank);
  }
  const std::vector<std::string_view> views(raws.begin(), raws.end());
  const std::vector<CrashText> texts =
      readable_crashes(views, programs_, std::chrono::duration_cast<std::chrono::milliseconds>(kLinePatience));
  for (std::size_t i = 0; i < told.size(); ++i) {
    Seen& rank = seen(told[i]);
    rank.place = first_place(texts[i].details);
    if (rank.doing == Doing::waiting) {
      rank.function = texts[i].headline;
    } else {
      rank.stack = texts[i].details;
      if (rank.place.empty()) rank.place = first_function(texts[i].details);
    }
  }
}

std::vector<insight::RankState> WaitCollector::states(std::span<const RankProcess> processes) const {
  std::vector<insight::RankState> states;
  const auto now = SteadyClock::now();
  for_each_rank(processes, [&](const RankProcess& process, std::uint32_t rank) {
    const Seen& seen = seen_[rank - region_.first_rank()];
    insight::RankState& state = states.emplace_back();
    state.rank = rank;
    state.doing = process.running ? seen.doing : Doing::ended;
    const auto still = std::chrono::duration_cast<std::chrono::milliseconds>(now - seen.since).count();
    state.still_ms =
        seen.since == SteadyClock::time_point{} ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(still, 0));
    state.waits = seen.waits;
    state.function = seen.function;
    state.place = seen.place;
    state.stack = seen.stack;
    if (!process.running) return;
    const RankBlock& block = region_.block(rank);
    const ProcessState kernel =
        process.ranks == 1 ? ProcessState::of(process.pid)
                           : ProcessState::of_thread(process.pid, block.thread.load(std::memory_order_relaxed));
    state.processor_ms = kernel.processor_ms;
    state.memory_bytes = kernel.resident_bytes;
    state.sleeps = block.waits.sleeps.load(std::memory_order_relaxed);
    state.in_system_call = seen.doing == Doing::running && !seen.place.empty() && process.ranks == 1 &&
                           std::string_view("SD").find(kernel.letter) != std::string_view::npos;
  });
  return states;
}

void WaitCollector::forget_times() noexcept {
  for (Seen& each : seen_) each.since = SteadyClock::now();
}

}  // namespace coracle::internals
