// From words to what is measured, and back.
#include "apps/coracle/bench/ddt_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>

#include "apps/coracle/units.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::int64_t kRoundsMax = 10'000;

[[noreturn]] void wrong(const std::string& what) {
  throw CLI::ValidationError(what);
}

std::string names_of_ways() {
  std::vector<std::string> names;
  for (const DdtWay way : kDdtWays) names.emplace_back(to_string(way));
  return fmt::format("{}", fmt::join(names, ", "));
}

DdtWay way_of(const std::string& word) {
  for (const DdtWay way : kDdtWays)
    if (word == to_string(way)) return way;
  wrong(fmt::format("--ways {}: there are {}", word, names_of_ways()));
}

}  // namespace

std::optional<MessageWay> message_way(DdtWay way) noexcept {
  switch (way) {
    case DdtWay::automatic:
      return MessageWay::automatic;
    case DdtWay::one_sided:
      return MessageWay::one_sided;
    case DdtWay::cooperative:
      return MessageWay::cooperative;
    case DdtWay::shm:
      return MessageWay::shm;
    case DdtWay::cma:
      return MessageWay::cma;
    case DdtWay::by_hand:
    case DdtWay::by_library:
      break;
  }
  return std::nullopt;
}

const char* to_string(DdtWay way) noexcept {
  switch (way) {
    case DdtWay::automatic:
      return "automatic";
    case DdtWay::one_sided:
      return "one-sided";
    case DdtWay::cooperative:
      return "cooperative";
    case DdtWay::shm:
      return "shm";
    case DdtWay::cma:
      return "cma";
    case DdtWay::by_hand:
      return "by-hand";
    case DdtWay::by_library:
      break;
  }
  return "by-library";
}

void add_ddt_options(CLI::App& command, DdtWords& words) {
  command
      .add_option("--ways", words.ways, fmt::format("With commas, of {} (default: all that can be)", names_of_ways()))
      ->delimiter(',')
      ->group("ddt");
  command.add_option("--bytes-max", words.bytes_max, "No larger messages: 64K")->group("ddt");
  command
      .add_option("--rounds", words.rounds,
                  "Batches of each way, in turn (default: 20; --quick: 3); pagetables: how often all send to all "
                  "(default: 1000)")
      ->group("ddt");
}

DdtOptions ddt_options(const DdtWords& words) {
  DdtOptions options;
  options.patterns = words.patterns;
  for (const std::string& word : words.ways) options.ways.push_back(way_of(word));
  if (!words.bytes_max.empty()) {
    const auto bytes = parse_bytes(words.bytes_max);
    if (!bytes || *bytes == 0) wrong(fmt::format("--bytes-max {}: must be a size such as 64K", words.bytes_max));
    options.bytes_max = *bytes;
  }
  if (words.rounds < 0 || words.rounds > kRoundsMax)
    wrong(fmt::format("--rounds {}: must be from 1 to {}", words.rounds, kRoundsMax));
  options.rounds = static_cast<int>(words.rounds);
  return options;
}

std::vector<std::string> to_arguments(const DdtWords& words) {
  std::vector<std::string> arguments{"--rounds", std::to_string(words.rounds)};
  for (const std::string& pattern : words.patterns) arguments.insert(arguments.end(), {"--pattern", pattern});
  if (!words.ways.empty()) arguments.insert(arguments.end(), {"--ways", fmt::format("{}", fmt::join(words.ways, ","))});
  if (!words.bytes_max.empty()) arguments.insert(arguments.end(), {"--bytes-max", words.bytes_max});
  return arguments;
}

}  // namespace coracle::internals::bench
