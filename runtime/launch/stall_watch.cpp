// Looks at intervals, a few to a stall time.
#include "runtime/launch/stall_watch.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "runtime/core/event.hpp"
#include "runtime/launch/job_failure.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr int kLooksPerStall = 4;
constexpr auto kLeastInterval = 20ms;
constexpr auto kMostInterval = 10s;
constexpr auto kSecondLook = 1s;  // at what is new, before it is told
// For whoever asks by himself: a state that lasts so long over several looks is one of waiting.
constexpr auto kMoment = 600ms;
constexpr int kLooksPerMoment = 3;

/// Of those that wait in functions of an interface for longer than a moment, and have not been found since they do: no
/// signal is needed for them, and each costs a look into the program once.
std::vector<std::uint32_t> unknown_calls(const std::vector<insight::RankState>& states) {
  std::vector<std::uint32_t> ranks;
  for (const insight::RankState& state : states)
    if (state.doing == insight::Doing::waiting && !state.waits.call.empty() && state.function.empty() &&
        state.still_ms >= static_cast<std::uint64_t>(kMoment.count()))
      ranks.push_back(state.rank);
  return ranks;
}

std::uint64_t milliseconds(std::chrono::nanoseconds time) noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

/// This process's words, with spaces between them.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  if (!words.empty()) words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

/// In one write, since launchers of several jobs may share the file.
void append_to_log(const std::string& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const bool is_written = file >= 0 && ::write(file, line.data(), line.size()) == std::ssize(line);
  if (!is_written) say("can't write to the stall log {}: {}", path, std::generic_category().message(errno));
  if (file >= 0) ::close(file);
}

}  // namespace

Task<StallWatch::Explanation> StallWatch::look(std::uint64_t stall_ms) {
  const Mutex::Lock alone = co_await one_at_a_time_.lock();
  Explanation found;
  found.states = co_await source_.look();
  const std::vector<std::uint32_t> wanted = insight::ranks_to_locate(found.states, stall_ms);
  if (!wanted.empty()) {
    std::vector<insight::RankState> located = co_await source_.locate(wanted);
    if (located.size() == found.states.size()) found.states = std::move(located);
  }
  found.verdicts = insight::find_verdicts(found.states, stall_ms);
  co_return found;
}

Task<> StallWatch::serve(StallOptions stall) {
  const auto interval =
      std::clamp<std::chrono::nanoseconds>(stall.time / kLooksPerStall, kLeastInterval, kMostInterval);
  for (auto before = SteadyClock::now();; before = SteadyClock::now()) {
    co_await sleep_for(interval);
    // Where this launcher has not run meanwhile, perhaps nobody has.
    if (SteadyClock::now() - before > 3 * interval) source_.forget_times();
    Explanation found = co_await look(milliseconds(stall.time));
    if (news_of(found).empty()) continue;
    // Ranks that have come to it a little later than the first are to be in it, too.
    co_await sleep_for(std::min<std::chrono::nanoseconds>(stall.time, kSecondLook));
    found = co_await look(milliseconds(stall.time));
    tell_new(found, stall);
  }
}

std::vector<insight::HangVerdict> StallWatch::news_of(const Explanation& found) const {
  std::vector<insight::HangVerdict> news;
  std::set<std::string> known = told_;
  for (const insight::HangVerdict& verdict : found.verdicts)
    if (known.insert(verdict.key()).second) news.push_back(verdict);
  return news;
}

void StallWatch::tell_new(const Explanation& found, const StallOptions& stall) {
  const std::vector<insight::HangVerdict> news = news_of(found);
  if (news.empty()) return;
  for (const insight::HangVerdict& verdict : news) told_.insert(verdict.key());
  say("ranks have stood still for {} (--stall); the job goes on:", text_of(stall.time));
  write_to_user(insight::text_of(news));
  if (stall.log.empty()) return;
  const std::string now = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  append_to_log(stall.log, insight::log_line({now, ::getpid(), command_line()}, news, found.states));
}

Task<StallWatch::Explanation> StallWatch::explain() {
  for (int i = 0; i < kLooksPerMoment; ++i) {
    const Mutex::Lock alone = co_await one_at_a_time_.lock();
    static_cast<void>(co_await source_.look());
    co_await sleep_for(kMoment / kLooksPerMoment);
  }
  co_return co_await look(milliseconds(kMoment));
}

Task<> StallWatch::tell_why() {
  const Explanation found = co_await explain();
  write_to_user(insight::text_of(found.verdicts));
}

Task<insight::JobPicture> StallWatch::picture(const JobOptions& options) {
  const Mutex::Lock alone = co_await one_at_a_time_.lock();
  std::vector<insight::RankState> states = co_await source_.look();
  const std::vector<std::uint32_t> wanted = unknown_calls(states);
  if (!wanted.empty()) states = co_await source_.locate(wanted);
  for (insight::RankState& state : states)
    if (state.doing == insight::Doing::waiting && state.function.empty())
      state.function = state.waits.call.substr(0, state.waits.call.find('\n'));
  insight::JobPicture picture;
  picture.program = program_names(options);
  picture.placement = to_string(options.shape.placement);
  picture.size = options.shape.size;
  picture.nodes = options.shape.nodes;
  picture.age_ms = milliseconds(SteadyClock::now() - begun_);
  picture.ranks = insight::picture_of(states);
  for (insight::RankPicture& rank : picture.ranks) rank.node = node_of(options, rank.rank);
  for (const insight::HangVerdict& verdict : insight::find_verdicts(states, milliseconds(kMoment)))
    if (verdict.is_certain()) picture.hangs.push_back(verdict.sentence);
  co_return picture;
}

Task<std::string> StallWatch::answer(std::string question, const JobOptions& options) {
  const JobShape& shape = options.shape;
  if (question == "ps") {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(SteadyClock::now() - begun_).count();
    co_return fmt::format("{:>6}  {:>5}  {:<7}  {:>9}  {}", shape.size, shape.nodes, to_string(shape.placement),
                          seconds, program_names(options));
  }
  if (shape.placement == Placement::sim)
    co_return std::string("a simulated job knows by itself when nothing can happen any more, and says so\n");
  if (question == "top") co_return insight::json_of(co_await picture(options)) + "\n";
  const Explanation found = co_await explain();
  if (question == "why json") co_return insight::json_of(found.verdicts, found.states) + "\n";
  if (!found.verdicts.empty()) co_return insight::text_of(found.verdicts);
  co_return insight::summary_of(found.states);
}

}  // namespace coracle::internals
