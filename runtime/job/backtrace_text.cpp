// Names by the demangler, and source lines by addr2line.
#include "runtime/job/backtrace_text.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/job/elf_symbols.hpp"

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

/// Names of C's functions stay: "f" would become "float".
std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
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
void find_sources(std::span<StackFrame> frames, std::chrono::milliseconds patience) {
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

/// A text whose frames lie among those of all texts.
struct Parsed {
  CrashText text;
  std::size_t first_frame;
  std::size_t frames = 0;
};

/// A program names itself as it was called, which may be by a name found in PATH.
std::string path_of(const std::string& name, std::span<const std::string> programs) {
  for (const std::string& path : programs)
    if (path == name || path.ends_with("/" + name)) return path;
  return name;
}

Parsed parse(std::string_view raw, std::span<const std::string> programs, std::vector<StackFrame>& frames) {
  constexpr std::string_view kFrame = "  at ";
  Parsed parsed{{}, frames.size()};
  for (const std::string_view line : lines_of(raw)) {
    StackFrame frame;
    if (parsed.text.headline.empty()) {
      parsed.text.headline = line;
    } else if (line.substr(0, kFrame.size()) == kFrame && parse_frame(line.substr(kFrame.size()), frame)) {
      if (frame.module.find('/') == std::string::npos && frame.module != "?")
        frame.module = path_of(frame.module, programs);
      frames.push_back(std::move(frame));
      ++parsed.frames;
    } else {
      parsed.text.details += fmt::format("  {}\n", line);
    }
  }
  return parsed;
}

std::string text_of(const StackFrame& frame) {
  if (frame.source.find(" at ") != std::string::npos) return fmt::format("    {}\n", frame.source);
  const std::string name = frame.source.empty() ? demangled(frame.symbol) : frame.source;
  return fmt::format("    {} in {} ({})\n", name, frame.module, frame.offset);
}

/// "src/solver.c:88"; empty where that is not known. Of functions that are inlined there the innermost comes first.
std::string place_of(const StackFrame& frame) {
  const std::string_view known = std::string_view(frame.source).substr(0, frame.source.find('\n'));
  const std::size_t at = known.find(" at ");
  if (at == std::string_view::npos) return {};
  const std::string_view place = known.substr(at + 4);
  return std::string(place.substr(0, place.find(" (discriminator")));
}

/// "LAMMPS_NS::Comm::setup" of "LAMMPS_NS::Comm::setup(int (*)(int)) const".
std::string without_arguments(const std::string& function) {
  constexpr std::string_view kConst = " const";
  std::string_view name = function;
  if (name.ends_with(kConst)) name.remove_suffix(kConst.size());
  if (!name.ends_with(')')) return function;
  int depth = 0;
  for (std::size_t at = name.size(); at-- > 1;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return std::string(name.substr(0, at));
  }
  return function;
}

}  // namespace

CrashText readable_crash(std::string_view raw, std::span<const std::string> programs,
                         std::chrono::milliseconds patience) {
  return readable_crashes({&raw, 1}, programs, patience).front();
}

std::vector<CrashText> readable_crashes(std::span<const std::string_view> raws, std::span<const std::string> programs,
                                        std::chrono::milliseconds patience) {
  std::vector<StackFrame> frames;
  std::vector<Parsed> all;
  for (const std::string_view raw : raws) all.push_back(parse(raw, programs, frames));
  find_sources(frames, patience);
  std::vector<CrashText> texts;
  for (Parsed& each : all) {
    for (const StackFrame& frame : std::span(frames).subspan(each.first_frame, each.frames))
      each.text.details += text_of(frame);
    texts.push_back(std::move(each.text));
  }
  return texts;
}

std::string place_in_source(const std::string& module, std::uint64_t address) {
  StackFrame frame{module, fmt::format("{:#x}", address), "?", {}};
  find_sources({&frame, 1}, std::chrono::seconds(1));
  const std::string place = place_of(frame);
  return place.empty() ? fmt::format("{}+{}", module, frame.offset) : place.substr(place.rfind('/') + 1);
}

std::vector<SourcePlace> places_in_source(const std::string& module, std::span<const std::uint64_t> addresses,
                                          std::chrono::milliseconds patience) {
  std::vector<StackFrame> frames;
  for (const std::uint64_t address : addresses) frames.push_back({module, fmt::format("{:#x}", address), "?", {}});
  find_sources(frames, patience);
  const std::string short_name = module.substr(module.rfind('/') + 1);
  std::optional<ElfSymbols> symbols;
  std::vector<SourcePlace> places;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::string place = place_of(frames[i]);
    const std::size_t colon = place.rfind(':');
    SourcePlace& found = places.emplace_back();
    if (colon != std::string::npos) {
      found.file = place.substr(0, colon);
      std::from_chars(place.data() + colon + 1, place.data() + place.size(), found.line);
    }
    if (found.line != 0) continue;
    if (!symbols) symbols.emplace(module);
    const std::string function = without_arguments(demangled(symbols->function_at(addresses[i])));
    found.file = function.empty() ? fmt::format("{}+{}", short_name, frames[i].offset)
                                  : fmt::format("{} in {}", function, short_name);
  }
  return places;
}

}  // namespace coracle::internals
