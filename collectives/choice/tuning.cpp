// The job's words, and a memory for what the model has found.
#include "collectives/choice/tuning.hpp"

#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <cstdlib>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

constexpr std::string_view kBroadcast = "broadcast";
constexpr std::size_t kRemembered = 256;

std::string variable_of(std::string_view collective) {
  std::string name = "CORACLE_";
  for (const char letter : collective) name += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

std::string_view value_of(const std::string& variable) {
  const char* const value = std::getenv(variable.c_str());
  return value == nullptr ? std::string_view() : value;
}

/// The collective that is called so; kCollectives where there is none.
std::size_t number_of(std::string_view name) {
  std::size_t number = 0;
  while (number < kCollectives && name != name_of(static_cast<Collective>(number))) ++number;
  return number;
}

/// Sizes are looked at in steps, four from each power of two to the next: the largest of a step stands for all.
/// `least`: so much or less is one step.
std::size_t step_of(std::size_t bytes, std::size_t least) noexcept {
  if (bytes <= least) return least;
  const auto shift = static_cast<unsigned>(std::bit_width(bytes - 1)) - 3;
  return (((bytes - 1) >> shift) + 1) << shift;
}

BroadcastChoice overlay(const BroadcastChoice& first, const BroadcastChoice& second) noexcept {
  BroadcastChoice both = first;
  if (both.method == BroadcastMethod::automatic) both.method = second.method;
  if (both.tree == BroadcastTree::automatic) both.tree = second.tree;
  if (both.chunk_bytes == 0) both.chunk_bytes = second.chunk_bytes;
  if (both.depth == 0) both.depth = second.depth;
  if (both.fan_out == 0) both.fan_out = second.fan_out;
  return both;
}

}  // namespace

UserChoices UserChoices::of_environment() {
  UserChoices choices;
  const std::string broadcast = variable_of(kBroadcast);
  choices.broadcast = parse_broadcast_choice(value_of(broadcast), broadcast);
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    const std::string variable = variable_of(name_of(collective));
    choices.algorithms[i] = parse_algorithm(value_of(variable), collective, variable);
  }
  return choices;
}

std::string job_words(std::string_view costs, const UserChoices& choices) {
  std::string words(costs);
  const auto add = [&words](std::string_view name, std::string_view value) {
    words += fmt::format("{}{}={}", words.empty() ? "" : " ", name, value);
  };
  if (choices.broadcast != BroadcastChoice{}) add(kBroadcast, to_words(choices.broadcast));
  for (std::size_t i = 0; i < kCollectives; ++i)
    if (choices.algorithms[i] != Algorithm::automatic)
      add(name_of(static_cast<Collective>(i)), name_of(choices.algorithms[i]));
  return words;
}

Tuning::Tuning(Rank& rank) : Tuning(Costs::of_transports(rank), rank.core().region().shape().choices.data()) {}

Tuning::Tuning(const Costs& built_in, std::string_view text) : model_(built_in), remembered_(kRemembered) {
  Costs costs = built_in;
  for_each_setting(text, "the job's choices", [&](std::string_view name, std::string_view value) {
    const std::size_t number = number_of(name);
    if (name == kBroadcast)
      user_choices_.broadcast = parse_broadcast_choice(value, name);
    else if (number < kCollectives)
      user_choices_.algorithms[number] = parse_algorithm(value, static_cast<Collective>(number), name);
    else
      set_cost(costs, name, value);
  });
  model_ = CostModel(costs);
}

BroadcastChoice Tuning::broadcast(TeamShape shape, std::size_t bytes, const BroadcastChoice& choice) {
  const BroadcastChoice asked = overlay(choice, user_choices_.broadcast);
  const std::size_t step = step_of(bytes, 256);
  // A multiplicative mix (Knuth), of which the upper bits are good.
  const std::uint64_t mixed =
      (step ^ std::uint64_t{shape.nodes} << 44 ^ std::uint64_t{shape.local_size} << 54) * 0x9e3779b97f4a7c15ULL;
  Remembered& entry = remembered_[mixed >> 56];
  static_assert(kRemembered == 256);
  if (!entry.is_set || entry.bytes != step || entry.shape != shape || entry.asked != asked)
    entry = {step, shape, asked, model_.choose_broadcast(step, shape, asked), true};
  return entry.choice;
}

Algorithm Tuning::algorithm(Collective collective, const Work& work) noexcept {
  const auto number = static_cast<std::size_t>(collective);
  if (user_choices_.algorithms[number] != Algorithm::automatic)
    return latest_[number] = user_choices_.algorithms[number];
  Work step = work;
  step.bytes = step_of(work.bytes, 16);
  const std::uint64_t mixed = (step.bytes ^ std::uint64_t{work.participants} << 42 ^ std::uint64_t{number} << 60 ^
                               std::uint64_t{work.on_one_node} << 63) *
                              0x9e3779b97f4a7c15ULL;
  RememberedAlgorithm& entry = remembered_algorithms_[mixed >> 57];
  static_assert(std::tuple_size_v<decltype(remembered_algorithms_)> == 128);
  if (entry.algorithm == Algorithm::automatic || entry.collective != collective || entry.work != step)
    entry = {step, collective, model_.choose(collective, step)};
  return latest_[number] = entry.algorithm;
}

}  // namespace coracle::internals
