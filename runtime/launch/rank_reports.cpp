// Names and source lines for the frames of a backtrace; and SIGUSR1 to one rank after another; see
// runtime/job/diagnostics.hpp for the other end.
#include "runtime/launch/rank_reports.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/launch/processes.hpp"
#include "runtime/launch/say.hpp"

extern char** environ;

namespace coracle::internals {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct StackFrame {
  std::string module;
  std::string offset;
  std::string symbol;  // mangled, "+0x12" after it
  std::string source;  // what addr2line says, or empty
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

/// "MODULE 0xOFFSET SYMBOL"; the module's path may hold blanks.
bool parse_frame(std::string_view line, StackFrame& frame) {
  const std::size_t symbol = line.rfind(' ');
  if (symbol == std::string_view::npos || symbol == 0) return false;
  const std::size_t offset = line.rfind(' ', symbol - 1);
  if (offset == std::string_view::npos) return false;
  frame.module = line.substr(0, offset);
  frame.offset = line.substr(offset + 1, symbol - offset - 1);
  frame.symbol = line.substr(symbol + 1);
  return true;
}

std::string demangled(const std::string& symbol) {
  const std::size_t plus = symbol.rfind('+');
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol.substr(0, plus).c_str(), nullptr, nullptr, &status), ::free);
  if (status != 0 || name == nullptr) return symbol;
  return name.get() + (plus == std::string::npos ? std::string() : symbol.substr(plus));
}

/// Reads all of `fd` until its end or until `deadline`; empty in the latter case.
std::string read_until(int fd, SteadyClock::time_point deadline) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
    pollfd wanted{fd, POLLIN, 0};
    const int ready = left <= 0 ? 0 : ::poll(&wanted, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return {};
    const ssize_t bytes = ::read(fd, buffer, sizeof buffer);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(bytes));
  }
}

/// What addr2line prints for `offsets` of `module`; empty when there is none.
std::string run_addr2line(const std::string& module, const std::vector<std::string>& offsets,
                          SteadyClock::time_point deadline) {
  std::vector<std::string> words{"addr2line", "-apfCi", "-e", module};
  words.insert(words.end(), offsets.begin(), offsets.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, "addr2line", &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  if (error == 0) {
    text = read_until(ends[0], deadline);
    ::kill(pid, SIGKILL);  // it has closed its output or takes too long
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(ends[0]);
  return text;
}

/// g++ names a coroutine's body "f(f(int)::_Z1fi.Frame*) [clone .actor]": makes "f(int)" of it.
std::string without_coroutine_frame(const std::string& name) {
  const std::size_t end = name.rfind("::_Z");
  if (end == std::string::npos || name.find(".Frame*)", end) == std::string::npos) return name;
  for (std::size_t open = name.find('(', 1); open < end; open = name.find('(', open + 1)) {
    if (name.compare(open + 1, open, name, 0, open) == 0) return name.substr(open + 1, end - open - 1);
  }
  return name;
}

/// What addr2line knows of "FUNCTION at FILE:LINE", each of which may be question marks.
std::string known_part(std::string_view line) {
  if (line.substr(0, 2) == "??") return {};
  const std::size_t at = line.rfind(" at ");
  std::string name = without_coroutine_frame(std::string(line.substr(0, at)));
  if (at == std::string_view::npos) return name;
  std::string_view place = line.substr(at);
  if (place.substr(0, 6) == " at ??") return name;
  if (place.substr(place.size() - 2) == ":?") place.remove_suffix(2);
  return name + std::string(place);
}

/// Fills in StackFrame::source. addr2line's lines: "0x00001139: f() at x.cpp:5", then " (inlined by) g() at ..." for
/// its callers.
void find_sources(std::vector<StackFrame>& frames, std::chrono::milliseconds patience) {
  if (patience.count() <= 0) return;
  const auto deadline = SteadyClock::now() + patience;
  std::map<std::string, std::vector<StackFrame*>> by_module;
  for (StackFrame& frame : frames)
    if (frame.module != "?" && ::access(frame.module.c_str(), R_OK) == 0) by_module[frame.module].push_back(&frame);
  for (const auto& [module, wanted] : by_module) {
    std::vector<std::string> offsets;
    for (const StackFrame* frame : wanted) offsets.push_back(frame->offset);
    const std::string text = run_addr2line(module, offsets, deadline);
    std::size_t index = 0;
    for (std::string_view line : lines_of(text)) {
      const std::size_t colon = line.find(": ");
      if (line.substr(0, 2) == "0x" && colon != std::string_view::npos) {
        line.remove_prefix(colon + 2);
        if (index == wanted.size()) break;
        wanted[index++]->source = known_part(line);
      } else if (index > 0 && !wanted[index - 1]->source.empty()) {
        wanted[index - 1]->source += fmt::format("\n      {}", line.substr(line.find_first_not_of(' ')));
      }
    }
  }
}

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

/// What ranks that don't sleep have left in their blocks: where they run.
void tell_running(const JobRegion& region, std::span<const std::string> programs, SteadyClock::time_point end) {
  constexpr int kToldMax = 16;
  int running = 0;
  for (std::uint32_t rank = region.first_rank(); region.is_local(rank); ++rank) {
    RankBlock& block = region.block(rank);
    // acquire: pairs with the report's release after the text.
    const std::uint32_t bytes = block.running_bytes.exchange(0, std::memory_order_acquire);
    if (bytes == 0 || bytes > block.crash_text.size() || ++running > kToldMax) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now());
    const CrashText text = readable_crash({block.crash_text.data(), bytes}, programs, left);
    write_to_user(text.headline + "\n" + text.details);
  }
  if (running > kToldMax) write_to_user(fmt::format("... and {} more ranks are running\n", running - kToldMax));
}

/// A program names itself as it was called, which may be by a name found in PATH.
std::string path_of(const std::string& name, std::span<const std::string> programs) {
  for (const std::string& path : programs)
    if (path == name || path.ends_with("/" + name)) return path;
  return name;
}

}  // namespace

CrashText readable_crash(std::string_view raw, std::span<const std::string> programs,
                         std::chrono::milliseconds patience) {
  constexpr std::string_view kFrame = "  at ";
  CrashText result;
  std::vector<StackFrame> frames;
  for (const std::string_view line : lines_of(raw)) {
    StackFrame frame;
    if (result.headline.empty()) {
      result.headline = line;
    } else if (line.substr(0, kFrame.size()) == kFrame && parse_frame(line.substr(kFrame.size()), frame)) {
      if (frame.module.find('/') == std::string::npos && frame.module != "?")
        frame.module = path_of(frame.module, programs);
      frames.push_back(std::move(frame));
    } else {
      result.details += fmt::format("  {}\n", line);
    }
  }
  find_sources(frames, patience);
  for (const StackFrame& frame : frames) {
    if (frame.source.find(" at ") != std::string::npos) {
      result.details += fmt::format("    {}\n", frame.source);
    } else if (!frame.source.empty()) {
      result.details += fmt::format("    {} in {} ({})\n", frame.source, frame.module, frame.offset);
    } else {
      result.details += fmt::format("    {} in {} ({})\n", demangled(frame.symbol), frame.module, frame.offset);
    }
  }
  return result;
}

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
