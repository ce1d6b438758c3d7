#include "apps/common/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include "apps/common/strict_parsing.hpp"
#include "apps/common/units.hpp"

namespace coracle::internals {

void wrong(const std::string& what) {
  throw WrongUsage(what);
}

std::uint32_t number_of(const char* option, std::string_view word) {
  const auto value = parse_whole(word, 1, kRanksMax);
  if (!value) wrong(fmt::format("{} {}: must be from 1 to {}", option, word, kRanksMax));
  return static_cast<std::uint32_t>(*value);
}

}  // namespace coracle::internals

namespace coracle {

Check whole_number(std::uint64_t low, std::uint64_t high) {
  const std::string range = fmt::format("{} to {}", low, high);
  return {[low, high, range](const std::string& text) {
    return internals::parse_whole(text, low, high) ? std::string()
                                                   : fmt::format("{} is no whole number from {}", text, range);
  }};
}

Check any_count() {
  return whole_number(0, std::size_t{1} << 53);
}

Check positive_number(double high) {
  return {[high](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool is_number = !text.empty() && end == text.c_str() + text.size();
    if (is_number && value > 0 && value <= high) return std::string();
    return fmt::format("{} is no number above 0 and up to {:g}", text, high);
  }};
}

Check byte_size(std::uint64_t low, std::uint64_t high) {
  return {[low, high](const std::string& text) {
    const std::optional<std::uint64_t> bytes = internals::parse_bytes(text);
    if (bytes && *bytes >= low && *bytes <= high) return std::string();
    return fmt::format("{} is no size from {} to {} bytes, such as 64K, 1.5M or 1G", text, low, high);
  }};
}

Check page_size() {
  return {[](const std::string& text) {
    const std::optional<std::uint64_t> bytes = internals::parse_bytes(text);
    if (bytes && std::has_single_bit(*bytes) && *bytes >= 4096 && *bytes <= 4 << 20) return std::string();
    return fmt::format("{} is no power of two from 4K to 4M", text);
  }};
}

Check one_of(std::initializer_list<std::string> words) {
  const std::string values = fmt::format("{{{}}}", fmt::join(words, ","));
  const auto complain = [words = std::vector(words), values](const std::string& text) {
    return std::find(words.begin(), words.end(), text) != words.end() ? std::string() : text + " not in " + values;
  };
  return {complain, values};
}

Option Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Option Option::check(const Check& check) const {
  if (check.complaint)
    option_->check([complain = check.complaint](const std::string& text) { return complain(text); }, check.values);
  return *this;
}

Option Option::show_default() const {
  option_->capture_default_str();
  return *this;
}

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::needs(Option other) const {
  option_->needs(other.option_);
  return *this;
}

Option Option::excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

Option Option::group(const std::string& name) const {
  option_->group(name);
  return *this;
}

Option Option::separated_by(char delimiter) const {
  option_->delimiter(delimiter);
  option_->allow_extra_args(false);  // else it takes the words behind it
  return *this;
}

std::string Option::group_name() const {
  return option_->get_group();
}

bool Option::is_given() const {
  return option_->count() > 0;
}

bool Option::is_changed() const {
  return is_given() && fmt::format("{}", fmt::join(option_->results(), ",")) != option_->get_default_str();
}

template <class Value>
Option OptionGroup::add_option(const std::string& name, Value& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}
template Option OptionGroup::add_option(const std::string&, std::string&, const std::string&);
template Option OptionGroup::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option OptionGroup::add_option(const std::string&, std::uint32_t&, const std::string&);
template Option OptionGroup::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option OptionGroup::add_option(const std::string&, std::int64_t&, const std::string&);
template Option OptionGroup::add_option(const std::string&, double&, const std::string&);

Option OptionGroup::add_size(const std::string& name, std::uint64_t& bytes, const std::string& by_default,
                             const std::string& help, const Check& check) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): checked before, or it throws
  const auto take = [&bytes](const std::string& size) { bytes = internals::parse_bytes(size).value(); };
  if (!by_default.empty()) take(by_default);
  CLI::Option* const option = app_->add_option_function<std::string>(name, take, help)->default_str(by_default);
  return Option(option).type_name("SIZE").check(check);
}

Option OptionGroup::add_flag(const std::string& name, bool& flag, const std::string& help) {
  return Option(app_->add_flag(name, flag, help));
}

OptionGroup OptionGroup::add_choice(const std::string& name, const std::string& help) {
  CLI::App* const group = app_->add_option_group(name, help);
  group->require_option(1);
  return OptionGroup(group);
}

Option OptionGroup::option(const std::string& name) const {
  return Option(app_->get_option(name));
}

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : CommandLine(std::make_shared<CLI::App>(description, name)) {}

CommandLine::CommandLine(std::shared_ptr<CLI::App> app) : OptionGroup(app.get()), app_(std::move(app)) {}

std::string CommandLine::name() const {
  return app_->get_name();
}

void CommandLine::set_footer(const std::string& text) {
  app_->footer(text);
}

std::optional<std::string> CommandLine::read(int argc, const char* const* argv) {
  make_strict(*app_);
  try {
    app_->parse(words_for(*app_, argc, argv));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw internals::WrongUsage(explain(*app_, error));
    std::ostringstream help;
    app_->exit(error, help);
    return help.str();
  }
}

std::optional<int> CommandLine::parse(int argc, const char* const* argv, const std::function<void()>& check) {
  constexpr int kUsage = 2;
  const bool speaks = rank_from_environment() == 0;
  try {
    if (const std::optional<std::string> help = read(argc, argv)) {
      if (speaks) fmt::print(stdout, "{}", *help);
      return 0;
    }
    if (check) check();
    return std::nullopt;
  } catch (const internals::WrongUsage& error) {
    if (speaks) fmt::print(stderr, "{0}: {1} (`{0} --help` explains)\n", name(), error.what());
    return kUsage;
  }
}

}  // namespace coracle
