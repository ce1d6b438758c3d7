// The command line of an application: its options, what each may be, and what is said when they are wrong. It is parsed
// by CLI11, which takes 5 seconds to compile and is compiled once, behind this.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace coracle::internals {

/// A command line can't be meant as it is; the text says why, and how to mend it.
class WrongUsage : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

/// Throws WrongUsage.
[[noreturn]] void wrong(const std::string& what);

inline constexpr std::uint32_t kRanksMax = 1 << 20;

/// What `word` says, from 1 to kRanksMax: of ranks, nodes or connections. Throws WrongUsage.
std::uint32_t number_of(const char* option, std::string_view word);

}  // namespace coracle::internals

namespace coracle {

/// What a value may be.
struct Check {
  /// What is wrong with it; "": nothing.
  std::function<std::string(const std::string& text)> complaint;
  /// Behind the value's type in the help, such as "{gr,mtx}".
  std::string values = {};
};

/// Checks for a whole number from `low` to `high`.
Check whole_number(std::uint64_t low, std::uint64_t high);
/// From 0 to 2^53, more than which none of the applications could use.
Check any_count();
/// A number above 0 and up to `high`.
Check positive_number(double high);
/// For a size such as 64K, 1.5M or 1G, from `low` to `high` bytes.
Check byte_size(std::uint64_t low, std::uint64_t high);
/// For one that a paged segment's pages may have.
Check page_size();
Check one_of(std::initializer_list<std::string> words);

/// An option of a command line, which it must not outlive. What changes it gives it back.
class Option {
 public:
  explicit Option(CLI::Option* option) noexcept : option_(option) {}

  Option type_name(const std::string& name) const;
  Option check(const Check& check) const;
  /// The help tells what the value is now.
  Option show_default() const;
  Option required() const;
  Option needs(Option other) const;
  Option excludes(Option other) const;
  /// Under this headline in the help.
  Option group(const std::string& name) const;
  /// One word holds several values.
  Option separated_by(char delimiter) const;

  std::string group_name() const;
  bool is_given() const;
  /// It is given, and not what it is without; for those whose default is shown.
  bool is_changed() const;

 private:
  CLI::Option* option_;
};

/// Options beside each other. The variables that take their values must live until these are read.
class OptionGroup {
 public:
  explicit OptionGroup(CLI::App* app) noexcept : app_(app) {}

  /// Names of options begin with "-"; others are of values that stand alone, in their order. `Value`: std::string, a
  /// vector of these, std::uint32_t, std::uint64_t, std::int64_t, double.
  template <class Value>
  Option add_option(const std::string& name, Value& value, const std::string& help);
  /// With a value's type, what it may be, and its default.
  template <class Value>
  Option add_value(const std::string& name, Value& value, const std::string& type, const std::string& help,
                   const Check& check = {}) {
    return add_option(name, value, help).type_name(type).check(check).show_default();
  }
  /// The same of one that is a size, of which `by_default` is written in the help; "": `bytes` as it is, which is not.
  Option add_size(const std::string& name, std::uint64_t& bytes, const std::string& by_default, const std::string& help,
                  const Check& check);
  Option add_flag(const std::string& name, bool& flag, const std::string& help);
  /// Of which exactly one must be given.
  OptionGroup add_choice(const std::string& name, const std::string& help);

  /// There must be one of this name.
  Option option(const std::string& name) const;

 private:
  CLI::App* app_;
};

class CommandLine : public OptionGroup {
 public:
  CommandLine(const std::string& description, const std::string& name);

  std::string name() const;
  /// Stands at the end of the help.
  void set_footer(const std::string& text);

  /// Reads words; argv[0] is skipped. Every option refuses an empty value and to be given twice, if one is meant. Gives
  /// the text of the help if that is asked for. Throws WrongUsage. Once.
  std::optional<std::string> read(int argc, const char* const* argv);

  /// Reads them, and prints what there is to say; gives the exit status when the program shall not run: 0 after --help,
  /// 2 after wrong usage. Every rank of a job parses the same words; only rank 0's process prints. `check` may throw
  /// WrongUsage for what does not go together.
  std::optional<int> parse(int argc, const char* const* argv, const std::function<void()>& check = {});

 private:
  explicit CommandLine(std::shared_ptr<CLI::App> app);

  std::shared_ptr<CLI::App> app_;
};

}  // namespace coracle
