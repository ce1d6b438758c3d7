// Whatever tells ranks apart needs a process for each.
#include "apps/coracle/streams.hpp"

#include <fmt/format.h>

#include "apps/common/command_line.hpp"
#include "runtime/core/error.hpp"
#include "runtime/launch/rank_files.hpp"

namespace coracle::internals {
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
    if (!options.hosts.empty())
      wrong("--stdin all: on other hosts one rank can have standard input; name it, or say none");
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
