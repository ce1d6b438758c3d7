// What every command line of ours refuses, whatever its options mean: values that are empty, and options that are given
// twice where one is meant.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace coracle
