// CLI11 made strict: values that are empty are refused, and options that are given twice where one is meant. Whoever
// needs no commands behind the program's name takes command_line.hpp, which spares compiling CLI11 once more.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
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

/// What is wrong, with which option, and how to mend it.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace coracle
