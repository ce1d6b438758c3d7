// CLI11 takes an empty value for none, a flag as often as it comes, and `-np 2` for `-n` with the value "p".
#include "apps/common/strict_parsing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

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

}  // namespace coracle
