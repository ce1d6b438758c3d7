// From words to what is measured, and back.
#include "apps/coracle/bench/upa_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "apps/coracle/units.hpp"

namespace coracle::internals::bench {
namespace {

[[noreturn]] void wrong(const std::string& what) {
  throw CLI::ValidationError(what);
}

std::uint64_t delay_of(const std::string& word) {
  if (word == "0") return 0;
  const auto delay = parse_duration(word);
  if (!delay || *delay > std::chrono::minutes(1))
    wrong(fmt::format("--delays {}: must be 0, or times such as 500us or 2ms, up to a minute", word));
  return static_cast<std::uint64_t>(delay->count());
}

/// The one of `all` that is called `word`.
template <class Value, std::size_t count>
Value named(const char* option, const std::string& word, const Value (&all)[count]) {
  std::string names;
  for (const Value value : all) {
    if (word == to_string(value)) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(value));
  }
  wrong(fmt::format("{} {}: there are {}", option, word, names));
}

std::uint32_t count_of(const char* option, std::int64_t value) {
  if (value < 0 || value > 1 << 20) wrong(fmt::format("{} {}: must be from 1 to {}", option, value, 1 << 20));
  return static_cast<std::uint32_t>(value);
}

BroadcastChoice details_of(const UpaWords& words) {
  BroadcastChoice details;
  details.depth = count_of("--depth", words.depth);
  details.fan_out = count_of("--fan-out", words.fan_out);
  if (words.chunk.empty()) return details;
  const auto bytes = parse_bytes(words.chunk);
  if (!bytes) wrong(fmt::format("--chunk {}: must be a size such as 8K", words.chunk));
  details.chunk_bytes = *bytes;
  return details;
}

constexpr BroadcastMethod kMethods[] = {BroadcastMethod::automatic, BroadcastMethod::plain, BroadcastMethod::pipelined,
                                        BroadcastMethod::competitive};
constexpr BroadcastTree kTrees[] = {BroadcastTree::automatic, BroadcastTree::binomial,
                                    BroadcastTree::recursive_doubling, BroadcastTree::ring};

}  // namespace

const char* to_string(BroadcastMethod method) noexcept {
  switch (method) {
    case BroadcastMethod::automatic:
      return "auto";
    case BroadcastMethod::plain:
      return "plain";
    case BroadcastMethod::pipelined:
      return "pipelined";
    case BroadcastMethod::competitive:
      return "competitive";
  }
  return "?";
}

const char* to_string(BroadcastTree tree) noexcept {
  switch (tree) {
    case BroadcastTree::automatic:
      return "auto";
    case BroadcastTree::binomial:
      return "binomial";
    case BroadcastTree::recursive_doubling:
      return "recursive_doubling";
    case BroadcastTree::ring:
      return "ring";
  }
  return "?";
}

void add_upa_options(CLI::App& command, UpaWords& words) {
  const auto add = [&command](const char* name, std::vector<std::string>& target, const char* help) {
    command.add_option(name, target, help)->delimiter(',')->capture_default_str()->group("upa");
  };
  add("--delays", words.delays, "K: a rank is late by a random time in [0, K]");
  add("--methods", words.methods, "auto, plain, pipelined, competitive");
  add("--trees", words.trees, "Between nodes: auto, binomial, recursive_doubling, ring");
  command
      .add_option("--arrival", words.arrival,
                  "uniform, exponential (of the same mean, K/2), or a recorded trace's file")
      ->capture_default_str()
      ->group("upa");
  command.add_option("--chunk", words.chunk, "Of a pipeline's pieces (default: by the cost model)")->group("upa");
  command.add_option("--depth", words.depth, "Pieces on the way to one node (default: by the cost model)")
      ->group("upa");
  command.add_option("--fan-out", words.fan_out, "Node-mates that copy from one buffer (default: by the cost model)")
      ->group("upa");
  command.add_option("--iterations", words.iterations, "Of each case (default: 200, sim: 50; --quick: 5)")
      ->group("upa");
  command.add_option("--arrival-seed", words.arrival_seed, "Repeats the delays")->capture_default_str()->group("upa");
}

UpaOptions upa_options(const UpaWords& words) {
  if (words.iterations < 0 || words.iterations > 10'000'000)
    wrong(fmt::format("--iterations {}: must be from 1 to 10000000", words.iterations));
  UpaOptions options{{},
                     {},
                     {},
                     details_of(words),
                     Arrivals(words.arrival, static_cast<std::uint64_t>(words.arrival_seed)),
                     static_cast<std::uint64_t>(words.iterations)};
  for (const std::string& word : words.delays) options.delays_ns.push_back(delay_of(word));
  std::sort(options.delays_ns.begin(), options.delays_ns.end());  // K = 0 is what the others stand beside
  for (const std::string& word : words.methods) options.methods.push_back(named("--methods", word, kMethods));
  for (const std::string& word : words.trees) options.trees.push_back(named("--trees", word, kTrees));
  return options;
}

std::vector<std::string> to_arguments(const UpaWords& words) {
  std::vector<std::string> arguments{"--delays",       fmt::format("{}", fmt::join(words.delays, ",")),
                                     "--methods",      fmt::format("{}", fmt::join(words.methods, ",")),
                                     "--trees",        fmt::format("{}", fmt::join(words.trees, ",")),
                                     "--arrival",      words.arrival,
                                     "--depth",        std::to_string(words.depth),
                                     "--fan-out",      std::to_string(words.fan_out),
                                     "--iterations",   std::to_string(words.iterations),
                                     "--arrival-seed", std::to_string(words.arrival_seed)};
  if (!words.chunk.empty()) arguments.insert(arguments.end(), {"--chunk", words.chunk});
  return arguments;
}

}  // namespace coracle::internals::bench
