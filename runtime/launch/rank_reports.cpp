// SIGUSR1 to one rank after another; see runtime/job/diagnostics.hpp for the other end.
#include "runtime/launch/rank_reports.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/job/backtrace_text.hpp"
#include "runtime/launch/processes.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Counts what `process` has reported so far.
std::uint32_t reports_of(const JobRegion& region, const RankProcess& process) {
  std::uint32_t count = 0;
  for (std::uint32_t rank = process.first_rank; rank < process.first_rank + process.ranks; ++rank)
    count += region.block(rank).reports.load(std::memory_order_acquire);  // pairs with the report's release
  return count;
}

/// Asks the ranks of `process` that run the runtime; gives what reports_of() will be when all have answered.
std::uint32_t ask(const JobRegion& region, const RankProcess& process) {
  std::uint32_t wanted = reports_of(region, process);
  for (std::uint32_t rank = process.first_rank; rank < process.first_rank + process.ranks; ++rank)
    if (region.block(rank).phase.load(std::memory_order_acquire) == RankPhase::attached) ++wanted;
  ::kill(process.pid, SIGUSR1);
  return wanted;
}

/// True when they have answered before `deadline`.
Task<bool> have_answered(const JobRegion& region, const RankProcess& process, std::uint32_t wanted,
                         SteadyClock::time_point deadline) {
  while (reports_of(region, process) < wanted) {
    if (SteadyClock::now() >= deadline) co_return false;
    co_await sleep_for(std::chrono::milliseconds(1));
  }
  co_return true;
}

/// Lines about single processes; of many the rest is counted.
class Others {
 public:
  void tell(const RankProcess& process, const std::string& what) {
    if (count_++ < kToldMax) write_to_user(fmt::format("{}: {}\n", process.name(), what));
  }
  void tell_rest() const {
    if (count_ > kToldMax)
      write_to_user(fmt::format("... and {} more processes without a report\n", count_ - kToldMax));
  }

 private:
  static constexpr int kToldMax = 32;
  int count_ = 0;
};

/// What ranks have left in their blocks: where they run, or in which call of an interface's function they are.
void tell_running(const JobRegion& region, std::span<const std::string> programs, SteadyClock::time_point end) {
  constexpr std::size_t kToldMax = 64;
  std::vector<std::string> texts;
  std::size_t running = 0;
  for (std::uint32_t rank = region.first_rank(); region.is_local(rank); ++rank) {
    RankBlock& block = region.block(rank);
    // acquire: pairs with the report's release after the text.
    const std::uint32_t bytes = block.running_bytes.exchange(0, std::memory_order_acquire);
    if (bytes == 0 || bytes > block.crash_text.size() || ++running > kToldMax) continue;
    texts.emplace_back(block.crash_text.data(), bytes);
  }
  const std::vector<std::string_view> raws(texts.begin(), texts.end());
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now());
  for (const CrashText& text : readable_crashes(raws, programs, left))
    write_to_user(text.headline + "\n" + text.details);
  if (running > kToldMax) write_to_user(fmt::format("... and {} more ranks have reported\n", running - kToldMax));
}

}  // namespace

Task<> report_waits(const JobRegion& region, std::span<const RankProcess> processes,
                    std::span<const std::string> programs) {
  struct Late {
    const RankProcess* process;
    std::uint32_t wanted;
  };
  constexpr auto kAllRanks = std::chrono::milliseconds(2000);
  constexpr auto kOneProcess = std::chrono::milliseconds(300);
  constexpr auto kLateOnes = std::chrono::milliseconds(1500);
  const auto end = SteadyClock::now() + kAllRanks;
  Others others;
  std::vector<Late> late;
  for (const RankProcess& process : processes) {
    if (!process.running) {
      others.tell(process, "has ended");
    } else if (process.any_at(region, RankPhase::attached)) {
      const std::uint32_t wanted = ask(region, process);
      const auto patience = process.ranks > 1 ? kAllRanks : kOneProcess;
      if (!co_await have_answered(region, process, wanted, std::min(end, SteadyClock::now() + patience)))
        late.push_back({&process, wanted});
    } else if (process.any_at(region, RankPhase::finished)) {
      others.tell(process, "has finished its part and is about to exit");
    } else {
      others.tell(process, fmt::format("does not use Coracle, or has not come so far: it is {}",
                                       ProcessState::of(process.pid).text()));
    }
  }
  // Where others keep the processors busy, one that computes may have to wait for its turn. One that is stopped won't.
  const auto last = SteadyClock::now() + kLateOnes;
  for (const Late& each : late) {
    const bool is_stopped = std::string_view(ProcessState::of(each.process->pid).text()) == "stopped";
    if (co_await have_answered(region, *each.process, each.wanted, is_stopped ? SteadyClock::now() : last)) continue;
    others.tell(*each.process, fmt::format("does not answer: it is {}", ProcessState::of(each.process->pid).text()));
  }
  tell_running(region, programs, last + kAllRanks);
  others.tell_rest();
}

}  // namespace coracle::internals
