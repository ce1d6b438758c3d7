// Each program's words are parsed by themselves, by a parser that knows only what a program may have. Whatever tells
// ranks apart needs a process for each.
#include "apps/coracle/programs.hpp"

#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Error.hpp>
#include <CLI/Formatter.hpp>
#include <utility>

#include "apps/common/command_line.hpp"
#include "apps/common/strict_parsing.hpp"
#include "apps/common/units.hpp"
#include "runtime/core/error.hpp"
#include "runtime/launch/processes.hpp"
#include "runtime/launch/rank_files.hpp"
#include "runtime/launch/say.hpp"
#include "runtime/launch/starters.hpp"
#include "runtime/pvas/program.hpp"

namespace coracle::internals {
namespace {

/// Cut at words that are a colon.
std::vector<std::vector<std::string>> split(const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> parts(1);
  for (const std::string& word : words) {
    if (word == ":")
      parts.emplace_back();
    else
      parts.back().push_back(word);
  }
  return parts;
}

/// Of a program behind a colon.
ProgramWords parse_program(const std::vector<std::string>& text) {
  ProgramWords words;
  CLI::App parser;
  parser.set_help_flag();
  parser.prefix_command();
  add_options_of_program(parser, words);
  make_strict(parser);
  std::vector<const char*> pointers{"coracle"};
  for (const std::string& word : text) pointers.push_back(word.c_str());
  try {
    parser.parse(words_for(parser, static_cast<int>(pointers.size()), pointers.data()));
  } catch (const CLI::ParseError& error) {
    wrong(fmt::format("behind a ':': {}", explain(parser, error)));
  }
  words.command = parser.remaining();
  return words;
}

void check_command(const CLI::App& run, const std::vector<std::string>& command, std::size_t index) {
  if (command.empty())
    wrong(index == 0 ? std::string("the program to run is missing")
                     : fmt::format("the program behind ':' number {} is missing", index));
  const std::string& word = command.front();
  if (!word.starts_with("-")) return;
  if (index > 0 && run.get_option_no_throw(word.substr(0, word.find('='))) != nullptr)
    wrong(fmt::format("{}: it is for the whole job; give it before the first program", word));
  const char* const others = index > 0 ? "; behind a ':' there are -n, --env and --wdir" : "";
  wrong(fmt::format("unknown option {} (options of the program go after its name{})", word, others));
}

std::vector<std::string> environment_of(const std::vector<std::string>& words) {
  std::vector<std::string> environment;
  for (const std::string& word : words) {
    if (word.starts_with("=")) wrong(fmt::format("--env {}: the name is missing: NAME=VALUE", word));
    if (word.find('=') != std::string::npos) environment.push_back(word);
  }
  return environment;
}

ProgramPart part_of(const ProgramWords& words, bool is_only) {
  ProgramPart part;
  part.program = words.command.front();
  part.arguments.assign(words.command.begin() + 1, words.command.end());
  part.environment = environment_of(words.environment);
  part.directory = words.directory;
  if (!is_only) part.ranks = words.ranks.empty() ? 1 : number_of("-n", words.ranks);
  return part;
}

/// Why the ranks of a program can't share an address space; "": they can, or it is told when they are started.
std::string why_apart(const ProgramPart& part, bool is_here) {
  const char* const kStarts = "since what it starts would not be in there";
  if (!is_here) return is_named_as_starter(part.program) ? kStarts : "";
  SpawnOptions spawn;
  spawn.program = part.program;
  try {
    const InDirectory there(part.directory);
    return starts_others(pvas::ProgramCache().resolve(spawn).program->path) ? kStarts : "";
  } catch (const Error& error) {
    return error.code() == Errc::unsupported ? "since it is not position-independent" : "";
  }
}

}  // namespace

void add_options_of_program(CLI::App& app, ProgramWords& words) {
  app.add_option("-n,--ranks", words.ranks, "Ranks (default: one per usable core); -np does as well");
  app.add_option("-x,--env", words.environment, "NAME=VALUE in the environment of the program's ranks; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--wdir", words.directory, "The folder in which the program is looked for and runs");
}

std::vector<ProgramPart> programs_of(const CLI::App& run, const ProgramWords& first) {
  const std::vector<std::vector<std::string>> texts = split(first.command);
  std::vector<ProgramPart> parts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ProgramWords words = i == 0 ? first : parse_program(texts[i]);
    if (i == 0) words.command = texts[i];
    check_command(run, words.command, i);
    parts.push_back(part_of(words, texts.size() == 1));
  }
  return parts;
}

void suit_programs(JobOptions& options) {
  for (const ProgramPart& part : options.programs) {
    const std::string reason = why_apart(part, options.hosts.empty());
    if (reason.empty()) continue;
    options.shape.placement = Placement::process;
    return say("{} can't share an address space, {}: the ranks are processes (--place process)", part.program, reason);
  }
}

namespace {

void need_processes(const char* option, const JobShape& shape) {
  if (shape.placement == Placement::pvas || shape.placement == Placement::process) return;
  wrong(
      fmt::format("{}: the ranks of --place {} are one process, whose output is not told apart; use --place pvas or "
                  "process",
                  option, to_string(shape.placement)));
}

void set_output(const std::string& pattern, JobOptions& options) {
  need_processes("--output", options.shape);
  if (options.label) wrong("--output: each rank has a file of its own, which needs no labels; leave --label out");
  try {
    const bool has_rank = output_file(pattern, 0, 0) != output_file(pattern, 1, 0);
    const bool has_node = output_file(pattern, 0, 0) != output_file(pattern, 0, 1);
    const std::uint32_t sharers = has_node ? options.shape.size - options.shape.nodes : options.shape.size - 1;
    if (!has_rank && sharers > 0)
      wrong(
          fmt::format("--output {}: several ranks would write to one file; put %r, the rank, into its name", pattern));
  } catch (const Error& error) {
    wrong(fmt::format("--output {}: {}", pattern, error.what()));
  }
  options.output = pattern;
}

void set_input(const std::string& word, JobOptions& options) {
  if (word == "all") {
    options.input.who = InputReaders::Who::all;
  } else if (word == "none") {
    options.input.who = InputReaders::Who::none;
  } else if (const auto rank = parse_whole(word, 0, options.shape.size - 1)) {
    options.input.rank = static_cast<std::uint32_t>(*rank);
  } else {
    wrong(fmt::format("--stdin {}: must be a rank (0 to {}), all or none", word, options.shape.size - 1));
  }
}

}  // namespace

void add_options_of_streams(CLI::App& app, StreamWords& words) {
  app.add_flag("--label", words.label, "Begin each line of the ranks' output with [RANK]");
  app.add_option("--output", words.output,
                 "Files for the ranks' output, both streams: a name with %r (rank) and, if you like, %n (node)");
  app.add_option("--stdin", words.input, "Who reads standard input: a rank, all or none")->capture_default_str();
}

void set_streams(const StreamWords& words, JobOptions& options) {
  options.label = words.label;
  if (words.label) need_processes("--label", options.shape);
  if (!words.output.empty()) set_output(words.output, options);
  set_input(words.input, options);
}

}  // namespace coracle::internals
