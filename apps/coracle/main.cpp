// The `coracle` command: starts programs, and tells what this machine can do.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <string>
#include <string_view>

#include "apps/common/strict_options.hpp"
#include "apps/coracle/commands.hpp"
#include "runtime/core/error.hpp"
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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Coracle: ranks in one address space. `coracle COMMAND --help` explains a command."};
  app.name("coracle");
  app.set_version_flag("--version", "coracle " CORACLE_VERSION);
  app.require_subcommand(1);
  int status = 0;
  coracle::internals::add_run_command(app, status);
  coracle::internals::add_info_command(app, status);
  coracle::internals::add_bench_command(app);
  coracle::internals::add_pages_command(app, status);
  coracle::internals::add_node_command(app, status);
  coracle::make_strict(app);
  const auto is_named = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty()) {
    coracle::internals::say("there is no command '{}'; there are {}", argv[1], command_names(app));
    return kUsage;
  }
  try {
    if (argc > 1 && std::string_view(argv[1]) == "bench") coracle::internals::exec_bench({argv + 2, argv + argc});
    app.parse(coracle::words_for(app, argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {                                               // --help, --version
      if (app.got_subcommand("bench")) coracle::internals::exec_bench({"--help"});  // `coracle --help bench`
      return app.exit(error);
    }
    return wrong_usage(app, error, argc > 1 ? argv[1] : nullptr);
  } catch (const std::exception& error) {
    coracle::internals::say("{}", error.what());
    return 1;
  }
  return status;
}
