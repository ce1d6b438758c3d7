// From words to what is measured.
#include "apps/bench/arrival/arrival_options.hpp"

#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include "apps/bench/benchmark.hpp"
#include "apps/common/strict_options.hpp"
#include "apps/common/units.hpp"

namespace coracle::internals::bench {
namespace {

std::uint64_t delay_of(const std::string& word) {
  if (word == "0") return 0;
  const auto delay = parse_duration(word);
  if (!delay || *delay > std::chrono::minutes(1))
    wrong(fmt::format("--delays {}: must be 0, or times such as 500us or 2ms, up to a minute", word));
  return static_cast<std::uint64_t>(delay->count());
}

template <class Value>
using Names = std::initializer_list<std::pair<Value, const char*>>;

constexpr Names<BroadcastMethod> kMethods = {{BroadcastMethod::automatic, "auto"},
                                             {BroadcastMethod::plain, "plain"},
                                             {BroadcastMethod::pipelined, "pipelined"},
                                             {BroadcastMethod::competitive, "competitive"}};
constexpr Names<BroadcastTree> kTrees = {{BroadcastTree::automatic, "auto"},
                                         {BroadcastTree::binomial, "binomial"},
                                         {BroadcastTree::recursive_doubling, "recursive_doubling"},
                                         {BroadcastTree::ring, "ring"}};

template <class Value>
const char* name_in(const Names<Value>& names, Value value) noexcept {
  for (const auto& [each, name] : names)
    if (each == value) return name;
  return "?";
}

template <class Value>
Value named(const char* option, const std::string& word, const Names<Value>& all) {
  std::string names;
  for (const auto& [value, name] : all) {
    if (word == name) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  wrong(fmt::format("{} {}: there are {}", option, word, names));
}

}  // namespace

const char* to_string(BroadcastMethod method) noexcept {
  return name_in(kMethods, method);
}

const char* to_string(BroadcastTree tree) noexcept {
  return name_in(kTrees, tree);
}

void ArrivalOptions::add_to(CLI::App& command) {
  const auto add_list = [&command](const char* name, std::vector<std::string>& target, const char* help) {
    command.add_option(name, target, help)->delimiter(',')->capture_default_str()->group("arrival");
  };
  const auto add = [&command](const char* name, auto& target, const char* help) {
    return command.add_option(name, target, help)->group("arrival");
  };
  add_list("--delays", delay_words_, "K: a rank is late by a random time in [0, K]");
  add_list("--methods", method_words_, "auto, plain, pipelined, competitive");
  add_list("--trees", tree_words_, "Between nodes: auto, binomial, recursive_doubling, ring");
  add("--arrival", arrival_, "uniform, exponential (of the same mean, K/2), or a recorded trace's file")
      ->capture_default_str();
  add("--chunk", chunk_, "Of a pipeline's pieces (default: by the cost model)");
  add("--depth", depth_, "Pieces on the way to one node (default: by the cost model)")->check(whole_number(1, 1 << 20));
  add("--fan-out", fan_out_, "Local members that copy from one buffer (default: by the cost model)")
      ->check(whole_number(1, 1 << 20));
  add("--iterations", iterations_, "Of each case (default: 200, sim: 50; --quick: 5)")
      ->check(whole_number(1, 10'000'000));
  add("--arrival-seed", arrival_seed_, "Repeats the delays")
      ->capture_default_str()
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
}

void ArrivalOptions::check() {
  details.depth = static_cast<std::uint32_t>(depth_);
  details.fan_out = static_cast<std::uint32_t>(fan_out_);
  if (!chunk_.empty()) {
    const auto bytes = parse_bytes(chunk_);
    if (!bytes) wrong(fmt::format("--chunk {}: must be a size such as 8K", chunk_));
    details.chunk_bytes = *bytes;
  }
  arrivals = Arrivals(arrival_, static_cast<std::uint64_t>(arrival_seed_));
  iterations = static_cast<std::uint64_t>(iterations_);
  for (const std::string& word : delay_words_) delays_ns.push_back(delay_of(word));
  std::sort(delays_ns.begin(), delays_ns.end());  // K = 0 is what the others stand beside
  for (const std::string& word : method_words_) methods.push_back(named("--methods", word, kMethods));
  for (const std::string& word : tree_words_) trees.push_back(named("--trees", word, kTrees));
}

}  // namespace coracle::internals::bench
