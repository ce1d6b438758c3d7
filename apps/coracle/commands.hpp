// The subcommands of `coracle`. Each adds itself to the parser; its callback does the work and stores the exit status:
// 0, 1 for what the world refuses, 2 for wrong usage. Errors may be thrown: main prints them.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace coracle::internals {

void add_run_command(CLI::App& app, int& status);
void add_info_command(CLI::App& app, int& status);
void add_pages_command(CLI::App& app, int& status);
/// `ps` and `why`.
void add_questions_commands(CLI::App& app, int& status);
void add_top_command(CLI::App& app, int& status);

/// `coracle gdb` with these words behind it: becomes gdb. Gives a status where it does not; throws Error where it
/// can't.
int run_gdb(const std::vector<std::string>& words);

}  // namespace coracle::internals
