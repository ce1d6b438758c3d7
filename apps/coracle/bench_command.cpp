// `coracle bench`: a program of its own, so that this one need not be compiled with all that is measured.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/coracle/commands.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {

void add_bench_command(CLI::App& app) {
  app.add_subcommand("bench", "Measure the library on this machine, beside the machine's limits");
}

void exec_bench(std::vector<std::string> words) {
  std::string program = std::filesystem::read_symlink("/proc/self/exe").replace_filename("coracle-bench").string();
  std::vector<char*> arguments{program.data()};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  throw_errno(errno,
              fmt::format("can't start {} (ninja builds it as apps/coracle-bench; it is installed beside this command)",
                          program));
}

}  // namespace coracle::internals
