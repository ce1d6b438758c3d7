// The subcommands of `coracle`. Each adds itself to the parser; its callback does the work and stores the exit status:
// 0, 1 for what the world refuses, 2 for wrong usage. Errors may be thrown: main prints them.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace coracle::internals {

void add_run_command(CLI::App& app, int& status);
void add_info_command(CLI::App& app, int& status);
/// Only for the list of commands: exec_bench() is what is done.
void add_bench_command(CLI::App& app);
void add_pages_command(CLI::App& app, int& status);
/// Not shown: what `coracle run` starts on every node of several.
void add_node_command(CLI::App& app, int& status);

/// Becomes coracle-bench, with these words behind the program's name. Throws Error where that can't be.
[[noreturn]] void exec_bench(std::vector<std::string> words);

}  // namespace coracle::internals
