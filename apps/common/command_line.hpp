// What command lines of ours have in common. Numbers, sizes and times as people write them: "8", "64M", "1.5G",
// "500ms", "30s". What each refuses, whatever its options mean: values that are empty, and options that are given twice
// where one is meant. And those of applications: complaints that appear once per job, and exit status 2 for them.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::internals {

/// Bytes: a number and one of K, M, G, T (powers of 1024) with "B" or "iB" after it if you like, or nothing. Nothing
/// for any other text, and for what is below one byte or does not fit.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// A whole number in digits; nothing for any other text, and for one that is not from `low` to `high`.
std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t low, std::uint64_t high);

/// A number and one of ns, us, ms, s, m (minutes), h; without a unit: seconds. Nothing for any other text, for what is
/// not above zero, and for more than ten years.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The GPU that "cuda:2" names; for "cuda" it is `any`. Nothing for any other text.
std::optional<int> parse_gpu(std::string_view text, int any);

/// Throws CLI::ValidationError.
[[noreturn]] void wrong(const std::string& what);

inline constexpr std::uint32_t kRanksMax = 1 << 20;

/// What `word` says, from 1 to kRanksMax: of ranks, nodes or connections. Throws CLI::ValidationError.
std::uint32_t number_of(const char* option, std::string_view word);

}  // namespace coracle::internals

namespace coracle {

/// Every option of `app`, and of those commands of it that are shown, refuses an empty value, and every flag to be
/// given twice. To be called when all of them are there.
void make_strict(CLI::App& app);

/// The words behind the program's name, last one first, as CLI::App::parse takes them. `-np 2`, `-np2` and
/// `--np=2`, as users of mpirun write it, become `-n 2` where `app` has that. Throws CLI::ValidationError for `--name=`
/// without a value, for which CLI11 would take the next word. What comes behind a program to run is left as it is.
std::vector<std::string> words_for(const CLI::App& app, int argc, const char* const* argv);

/// Checks for a whole number from `low` to `high`.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);

/// What is wrong, with which option, and how to mend it.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

/// Parses; gives the exit status when the program shall not run: 0 after --help, 2 after wrong usage. Every rank of a
/// job parses the same words; only rank 0's process prints.
std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv);

/// Checks for a size such as 64K, 1.5M or 1G, from `low` to `high` bytes.
CLI::Validator byte_size(std::uint64_t low, std::uint64_t high);
/// Checks for one that a paged segment's pages may have.
CLI::Validator page_size();
/// From 0 to 2^53, more than which none of the applications could use.
CLI::Validator any_count();
/// A number above 0 and up to `high`.
CLI::Validator positive_number(double high);

/// An option with a value: what the help calls it, what it means, and what it may be. The help tells its default.
template <class Value>
CLI::Option* add_value(CLI::App& app, const std::string& name, Value& value, const std::string& type,
                       const std::string& help, const CLI::Validator& check = {}) {
  return app.add_option(name, value, help)->type_name(type)->check(check)->capture_default_str();
}
/// The same of one that is a size, of which `by_default` is written in the help; "": `bytes` as it is, which is not.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& bytes, const std::string& by_default,
                      const std::string& help, const CLI::Validator& check);

}  // namespace coracle
