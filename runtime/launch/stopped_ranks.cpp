// Looks, each of which counts as a part of the silence limit.
#include "runtime/launch/stopped_ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/core/file_descriptor.hpp"

namespace coracle::internals {
namespace {

using namespace std::chrono_literals;

constexpr int kLooksPerLimit = 8;     // as peers on other nodes have it (tcp::Watchdog)
constexpr int kLooksPerQuestion = 2;  // those peers ask at their looks, which may come a little later than these

/// Whether a debugger holds the process. Also asked where nothing may be thrown.
bool is_traced(pid_t pid) noexcept {
  std::array<char, 64> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/status", pid);
  const FileDescriptor file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  std::array<char, 4096> text;
  const ssize_t bytes = ::read(file.get(), text.data(), text.size());
  constexpr std::string_view kField = "\nTracerPid:";
  std::string_view rest(text.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  const std::size_t field = rest.find(kField);
  if (field == std::string_view::npos) return false;
  rest.remove_prefix(field + kField.size());
  return rest.substr(0, rest.find('\n')).find_first_of("123456789") != std::string_view::npos;
}

}  // namespace

StoppedRanks::StoppedRanks(const JobRegion& region)
    : region_(region),
      limit_(region.shape().network.silence_limit_ns),
      interval_(std::max<std::chrono::nanoseconds>(limit_ / kLooksPerLimit, 1ms)) {}

bool StoppedRanks::is_stopped(const RankProcess& process) noexcept {
  return process.running && process.stop_signal != 0 && !is_traced(process.pid);
}

void StoppedRanks::note_question(RankProcess& process) noexcept {
  process.questions = kLooksPerQuestion;
}

/// By a rank of this node that runs, or by one of another node, which asks.
bool StoppedRanks::is_awaited(const RankProcess& process, std::span<const RankProcess> all) const {
  if (process.questions > 0) return true;
  if (!process.any_at(region_, RankPhase::starting) && !process.any_at(region_, RankPhase::attached)) return false;
  return std::any_of(all.begin(), all.end(), [&](const RankProcess& other) {
    return &other != &process && other.running && !is_stopped(other) && other.any_at(region_, RankPhase::attached);
  });
}

void StoppedRanks::look(std::span<RankProcess> processes) {
  const auto may_be_stopped = [](const RankProcess& process) { return process.running && process.stop_signal != 0; };
  if (std::none_of(processes.begin(), processes.end(), may_be_stopped)) return next_look_.reset();
  const auto now = SteadyClock::now();
  const bool due = next_look_ && now >= *next_look_;
  if (due || !next_look_) next_look_ = now + std::chrono::duration_cast<SteadyClock::duration>(interval_);
  if (!due) return;
  for (RankProcess& process : processes) {
    if (!is_stopped(process) || process.given_up) continue;
    if (is_awaited(process, processes)) process.awaited_for += interval_;
    process.questions = std::max(process.questions - 1, 0);
    if (process.awaited_for < limit_) continue;
    process.given_up = true;
    process.signal(SIGKILL);  // what is stopped takes no other
  }
}

}  // namespace coracle::internals
