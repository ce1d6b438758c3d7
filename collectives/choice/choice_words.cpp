// Parsing and writing choices.
#include "collectives/choice/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kChunkMost = std::size_t{1} << 40;
constexpr std::uint32_t kCountMost = 1 << 16;

[[noreturn]] void wrong(std::string_view where, std::string_view word, const std::string& what) {
  throw Error(Errc::bad_input, fmt::format("{}: {:?} {}", where, word, what));
}

/// A whole number, with K, M or G (1024 and its powers) behind it if `scaled`.
std::optional<std::uint64_t> parse_count(std::string_view text, bool scaled) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty()) return number;
  if (!scaled || unit.size() != 1) return std::nullopt;
  const std::size_t power = std::string_view("KMG").find(unit.front());
  if (power == std::string_view::npos) return std::nullopt;
  const std::size_t shift = 10 * (power + 1);
  if (number > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return number << shift;
}

std::string size_words(std::size_t bytes) {
  constexpr std::size_t kUnit = 1024;
  if (bytes != 0 && bytes % (kUnit * kUnit) == 0) return fmt::format("{}M", bytes / (kUnit * kUnit));
  if (bytes != 0 && bytes % kUnit == 0) return fmt::format("{}K", bytes / kUnit);
  return std::to_string(bytes);
}

bool take_setting(std::string_view word, std::string_view where, BroadcastChoice& choice) {
  const std::string_view key = word.substr(0, word.find('='));
  const bool is_chunk = key == "chunk";
  if (key.size() == word.size() || (!is_chunk && key != "depth" && key != "fan_out")) return false;
  const std::optional<std::uint64_t> value = parse_count(word.substr(key.size() + 1), is_chunk);
  const std::uint64_t most = is_chunk ? kChunkMost : kCountMost;
  if (!value || *value == 0 || *value > most)
    wrong(where, word,
          is_chunk ? "needs a size from 1 to 1024G, such as chunk=64K"
                   : fmt::format("needs a number from 1 to {}, such as {}=4", most, key));
  if (is_chunk)
    choice.chunk_bytes = *value;
  else
    (key == "depth" ? choice.depth : choice.fan_out) = static_cast<std::uint32_t>(*value);
  return true;
}

/// Whether the word is the name of something up to `last`, which is chosen then.
template <class Named>
bool take_name(std::string_view word, std::string_view where, Named last, Named& chosen) {
  for (auto number = static_cast<std::uint8_t>(Named::automatic); number <= static_cast<std::uint8_t>(last); ++number) {
    const auto named = static_cast<Named>(number);
    if (word != name_of(named)) continue;
    if (named == Named::automatic) return true;
    if (chosen != Named::automatic && chosen != named)
      wrong(where, word, fmt::format("contradicts {:?}; keep one of them", name_of(chosen)));
    chosen = named;
    return true;
  }
  return false;
}

void take_word(std::string_view word, std::string_view where, BroadcastChoice& choice) {
  if (take_setting(word, where, choice) || take_name(word, where, BroadcastMethod::competitive, choice.method) ||
      take_name(word, where, BroadcastTree::ring, choice.tree))
    return;
  wrong(where, word,
        "is none of plain, pipelined, competitive; binomial, recursive_doubling, ring; chunk=SIZE, depth=N, fan_out=N "
        "(such as \"competitive,ring,chunk=64K\")");
}

}  // namespace

bool next_setting(std::string_view& text, std::string_view where, std::string_view& name, std::string_view& value) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals + 1 == word.size())
      throw Error(Errc::bad_input, fmt::format("{}: {:?} is not of the form name=value", where, word));
    name = word.substr(0, equals);
    value = word.substr(equals + 1);
    return true;
  }
  return false;
}

BroadcastChoice parse_broadcast_choice(std::string_view text, std::string_view where) {
  BroadcastChoice choice;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    take_word(text.substr(0, comma), where, choice);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) wrong(where, ",", "stands at the end: a word is missing behind it");
  }
  return choice;
}

Algorithm parse_algorithm(std::string_view text, Collective collective, std::string_view where) {
  if (text.empty() || text == name_of(Algorithm::automatic)) return Algorithm::automatic;
  std::string known(name_of(Algorithm::automatic));
  for (const Algorithm algorithm : algorithms_of(collective)) {
    if (text == name_of(algorithm)) return algorithm;
    known += fmt::format(", {}", name_of(algorithm));
  }
  wrong(where, text, fmt::format("is no way of {}; there are {}", name_of(collective), known));
}

std::string to_words(const BroadcastChoice& choice) {
  std::string words;
  const auto add = [&words](const std::string& word) { words += (words.empty() ? "" : ",") + word; };
  if (choice.method != BroadcastMethod::automatic) add(std::string(name_of(choice.method)));
  if (choice.tree != BroadcastTree::automatic) add(std::string(name_of(choice.tree)));
  if (choice.chunk_bytes != 0) add("chunk=" + size_words(choice.chunk_bytes));
  if (choice.depth != 0) add(fmt::format("depth={}", choice.depth));
  if (choice.fan_out != 0) add(fmt::format("fan_out={}", choice.fan_out));
  return words.empty() ? "automatic" : words;
}

}  // namespace coracle::internals
