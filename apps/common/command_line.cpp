// Parsing numbers, sizes and times. Around CLI11, which takes an empty value for none, a flag as often as it comes, and
// `-np 2` for `-n` with the value "p". Speaks for all ranks.
#include "apps/common/command_line.hpp"

#include <fmt/format.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <utility>

namespace coracle::internals {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kSizes[] = {{"", 1},       {"B", 1},      {"K", 0x1p10}, {"k", 0x1p10},
                           {"M", 0x1p20}, {"G", 0x1p30}, {"T", 0x1p40}};
constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6},   {"s", 1e9},
                           {"", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};

/// A number and a unit, behind which one of `endings` may stand if it is more than 1; nothing for any other text.
std::optional<double> measure(std::string_view text, std::span<const Unit> units,
                              std::initializer_list<std::string_view> endings = {}) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (!rest.starts_with(unit.name)) continue;
    const std::string_view behind = rest.substr(unit.name.size());
    if (behind.empty() || (unit.factor > 1 && std::ranges::find(endings, behind) != endings.end()))
      return number * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t low, std::uint64_t high) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const std::optional<double> bytes = measure(text, kSizes, {"B", "iB"});
  if (!bytes || *bytes < 1 || *bytes >= 0x1p63) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  constexpr double kLongest = 10.0 * 365 * 24 * 3600 * 1e9;
  const std::optional<double> nanoseconds = measure(text, kTimes);
  if (!nanoseconds || *nanoseconds < 1 || *nanoseconds > kLongest) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(*nanoseconds));
}

std::optional<int> parse_gpu(std::string_view text, int any) {
  constexpr std::string_view kNumbered = "cuda:";
  if (text == "cuda") return any;
  if (!text.starts_with(kNumbered)) return std::nullopt;
  const auto number = parse_whole(text.substr(kNumbered.size()), 0, std::numeric_limits<int>::max());
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

void wrong(const std::string& what) {
  throw CLI::ValidationError(what);
}

std::uint32_t number_of(const char* option, std::string_view word) {
  const auto value = parse_whole(word, 1, kRanksMax);
  if (!value) wrong(fmt::format("{} {}: must be from 1 to {}", option, word, kRanksMax));
  return static_cast<std::uint32_t>(*value);
}

}  // namespace coracle::internals

namespace coracle {
namespace {

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

/// Commands that are shown, and groups of options, which CLI11 keeps as commands without a name.
std::vector<CLI::App*> shown_parts(CLI::App& app) {
  return app.get_subcommands(
      [](const CLI::App* each) { return each->get_name().empty() || !each->get_group().empty(); });
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* each) { return each->get_name() == name; });
  return name.empty() || found.empty() ? nullptr : found.front();
}

/// The option that was given more often than it may be; null: none.
const CLI::Option* find_repeated(const CLI::App& app) {
  const auto is_repeated = [](const CLI::Option* each) {
    return each->get_items_expected_max() <= 1 && each->count() > 1;
  };
  const auto found = app.get_options(is_repeated);
  if (!found.empty()) return found.front();
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; }))
    if (const CLI::Option* option = find_repeated(*part)) return option;
  return nullptr;
}

/// Reads words as CLI11 will, as far as it must to tell values and programs from options.
class Words {
 public:
  Words(const CLI::App& app, int argc, const char* const* argv)
      : app_(&app), left_(argv + 1, argv + std::max(argc, 1)) {}

  std::vector<std::string> read() {
    while (next_ < left_.size() && take(left_[next_++])) {
    }
    for (; next_ < left_.size(); ++next_) read_.push_back(left_[next_]);
    std::reverse(read_.begin(), read_.end());
    return std::move(read_);
  }

 private:
  /// False: what follows is left as it is.
  bool take(std::string word) {
    if (word.size() > 1 && word[0] == '-') {
      take_option(std::move(word));
      return read_.back() != "--";
    }
    const CLI::App* const command = find_command(*app_, word);
    read_.push_back(std::move(word));
    if (command != nullptr)
      app_ = command;
    else if (app_->get_prefix_command())
      return false;
    return true;
  }

  /// Whether it is mpirun's -np: then what is joined to it as its value is put back, to be the next word.
  bool take_mpirun_ranks(const std::string& word) {
    const bool is_long = word == "--np" || word.starts_with("--np=");
    if (!(is_long || word.starts_with("-np")) || app_->get_option_no_throw("-n") == nullptr) return false;
    std::string value = word.substr(is_long ? 4 : 3);
    if (value.starts_with('=')) {
      value.erase(0, 1);
      check_value(word.substr(0, word.find('=')), value);
    }
    if (!value.empty()) left_[--next_] = std::move(value);
    return true;
  }

  /// Of what stands behind a '='.
  static void check_value(const std::string& option, std::string_view value) {
    if (!value.empty()) return;
    throw CLI::ValidationError(option, "the value behind = is missing: write one, or leave " + option + " out");
  }

  void take_option(std::string word) {
    if (take_mpirun_ranks(word)) word = "-n";
    const std::size_t equals = word.find('=');
    const CLI::Option* const option = app_->get_option_no_throw(word.substr(0, equals));
    if (option != nullptr && equals != std::string::npos) check_value(word.substr(0, equals), word.substr(equals + 1));
    read_.push_back(std::move(word));
    const bool has_value_behind = option != nullptr && takes_value(*option) && equals == std::string::npos;
    if (has_value_behind && next_ < left_.size()) read_.push_back(left_[next_++]);
  }

  const CLI::App* app_;
  std::vector<std::string> left_;
  std::size_t next_ = 0;
  std::vector<std::string> read_;
};

}  // namespace

void make_strict(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (!takes_value(*option)) {
      option->multi_option_policy(CLI::MultiOptionPolicy::Throw);
      continue;
    }
    // In front of all other checks, whose words would not fit.
    option->transform(CLI::Validator(
        [](std::string& value) {
          return value.empty() ? std::string("the value is empty: write one, or leave the option out") : std::string();
        },
        ""));
  }
  for (CLI::App* part : shown_parts(app)) make_strict(*part);
}

std::vector<std::string> words_for(const CLI::App& app, int argc, const char* const* argv) {
  return Words(app, argc, argv).read();
}

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  const std::string range = fmt::format("{} to {}", low, high);
  return {[low, high, range](std::string& text) {
            return internals::parse_whole(text, low, high) ? std::string()
                                                           : fmt::format("{} is no whole number from {}", text, range);
          },
          ""};
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  if (error.get_name() == "ConversionError") {  // "Could not convert: NAME = VALUE"
    const std::size_t name = text.find(": ");
    const std::size_t value = text.find(" = ");
    if (name == std::string::npos || value == std::string::npos || value < name) return text;
    return fmt::format("{}: it does not take {}", text.substr(name + 2, value - name - 2), text.substr(value + 3));
  }
  if (error.get_name() != "ArgumentMismatch") return text;
  if (const CLI::Option* option = find_repeated(app))
    return fmt::format("{}: is given {} times; give it once", option->get_name(), option->count());
  if (text.ends_with(" missing")) return text.substr(0, text.find(':')) + ": its value is missing; write one behind it";
  return text;
}

std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv) {
  constexpr int kUsage = 2;
  make_strict(app);
  try {
    app.parse(words_for(app, argc, argv));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    const bool speaks = rank_from_environment() == 0;
    if (error.get_exit_code() != 0) {
      if (speaks)
        fmt::print(stderr, "{}: {} (`{} --help` explains)\n", app.get_name(), explain(app, error), app.get_name());
      return kUsage;
    }
    std::ostringstream help;
    app.exit(error, help);
    if (speaks) fmt::print(stdout, "{}", help.str());
    return 0;
  }
}

CLI::Validator byte_size(std::uint64_t low, std::uint64_t high) {
  return {[low, high](std::string& text) {
            const std::optional<std::uint64_t> bytes = internals::parse_bytes(text);
            if (bytes && *bytes >= low && *bytes <= high) return std::string();
            return fmt::format("{} is no size from {} to {} bytes, such as 64K, 1.5M or 1G", text, low, high);
          },
          ""};
}

CLI::Validator page_size() {
  return {[](std::string& text) {
            const std::optional<std::uint64_t> bytes = internals::parse_bytes(text);
            if (bytes && std::has_single_bit(*bytes) && *bytes >= 4096 && *bytes <= 4 << 20) return std::string();
            return fmt::format("{} is no power of two from 4K to 4M", text);
          },
          ""};
}

CLI::Validator any_count() {
  return whole_number(0, std::size_t{1} << 53);
}

CLI::Validator positive_number(double high) {
  return {[high](std::string& text) {
            char* end = nullptr;
            const double value = std::strtod(text.c_str(), &end);
            const bool is_number = !text.empty() && end == text.c_str() + text.size();
            if (is_number && value > 0 && value <= high) return std::string();
            return fmt::format("{} is no number above 0 and up to {:g}", text, high);
          },
          ""};
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& bytes, const std::string& by_default,
                      const std::string& help, const CLI::Validator& check) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): checked before, or it throws
  const auto take = [&bytes](const std::string& size) { bytes = internals::parse_bytes(size).value(); };
  if (!by_default.empty()) take(by_default);
  return app.add_option_function<std::string>(name, take, help)
      ->type_name("SIZE")
      ->check(check)
      ->default_str(by_default);
}

}  // namespace coracle
