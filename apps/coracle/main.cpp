// The `coracle` command: starts programs, and tells what this machine can do. `coracle bench` is a program of its own,
// so that this one need not be compiled with all that is measured.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/command_line.hpp"
#include "apps/coracle/commands.hpp"
#include "runtime/core/error.hpp"
#include "runtime/launch/node_launcher.hpp"
#include "runtime/launch/say.hpp"

namespace {

constexpr int kUsage = 2;

std::string command_names(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); }))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

int wrong_usage(const CLI::App& app, const CLI::ParseError& error, const char* command) {
  const bool is_known = command != nullptr && command[0] != '-';  // else main has spoken already
  coracle::internals::say("{} (`coracle{} --help` explains)", coracle::explain(app, error),
                          is_known ? " " + std::string(command) : "");
  return kUsage;
}

/// Becomes coracle-bench, with these words behind the program's name. Throws Error where that can't be.
[[noreturn]] void exec_bench(std::vector<std::string> words) {
  std::string program = std::filesystem::read_symlink("/proc/self/exe").replace_filename("coracle-bench").string();
  std::vector<char*> arguments{program.data()};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  coracle::internals::throw_errno(
      errno, fmt::format("can't start {} (ninja builds it as apps/coracle-bench; it is installed beside this command)",
                         program));
}

/// Not shown: what `coracle run` starts on every node of several.
void add_node_command(CLI::App& app, int& status) {
  auto standard = std::make_shared<coracle::internals::NodeLauncher::Standard>();
  CLI::App* node = app.add_subcommand("node", "One node of a job, for `coracle run`")->group("");
  node->add_option("--stdin", standard->input, "Descriptor of the ranks' standard input");
  node->add_option("--stdout", standard->output, "Descriptor of the ranks' standard output");
  node->callback([standard, &status] {
    coracle::internals::NodeLauncher launcher(*standard);
    status = launcher.run();
  });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Coracle: ranks in one address space. `coracle COMMAND --help` explains a command."};
  app.name("coracle");
  app.set_version_flag("--version", "coracle " CORACLE_VERSION);
  app.require_subcommand(1);
  int status = 0;
  coracle::internals::add_run_command(app, status);
  coracle::internals::add_info_command(app, status);
  app.add_subcommand("bench", "Measure the library on this machine, beside the machine's limits");
  coracle::internals::add_pages_command(app, status);
  add_node_command(app, status);
  coracle::make_strict(app);
  const auto is_named = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty()) {
    coracle::internals::say("there is no command '{}'; there are {}", argv[1], command_names(app));
    return kUsage;
  }
  try {
    if (argc > 1 && std::string_view(argv[1]) == "bench") exec_bench({argv + 2, argv + argc});
    app.parse(coracle::words_for(app, argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {                           // --help, --version
      if (app.got_subcommand("bench")) exec_bench({"--help"});  // `coracle --help bench`
      return app.exit(error);
    }
    return wrong_usage(app, error, argc > 1 ? argv[1] : nullptr);
  } catch (const std::exception& error) {
    coracle::internals::say("{}", error.what());
    return 1;
  }
  return status;
}
