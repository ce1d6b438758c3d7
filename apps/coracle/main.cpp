// The `coracle` command: starts programs, and tells what this machine can do. `coracle bench` is a program of its own,
// so that this one need not be compiled with all that is measured.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/command_line.hpp"
#include "apps/common/strict_parsing.hpp"
#include "apps/coracle/commands.hpp"
#include "apps/coracle/mpiexec_words.hpp"
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

int wrong_usage(const std::string& what, const std::vector<std::string>& words) {
  const bool is_known = !words.empty() && !words.front().starts_with('-');  // else main has spoken already
  coracle::internals::say("{} (`coracle{} --help` explains)", what, is_known ? " " + words.front() : "");
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

/// `coracle mpiexec` and coracle-mpiexec: what is to be parsed instead, behind the program's name. What is asked of the
/// ranks' surroundings is done here.
std::vector<std::string> run_words_of_mpiexec(const std::vector<std::string>& words) {
  const char* const time_limit = std::getenv("MPIEXEC_TIMEOUT");
  const coracle::internals::MpiexecCommand command =
      coracle::internals::translate_mpiexec(words, time_limit != nullptr ? time_limit : "");
  for (const std::string& ignored : command.ignored)
    coracle::internals::say("mpiexec's option {} means nothing here", ignored);
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (!command.directory.empty() && ::chdir(command.directory.c_str()) != 0)
    coracle::internals::throw_errno(errno, fmt::format("can't go to the folder {}", command.directory));
  if (command.wants_version) return {"--version"};
  std::vector<std::string> result{"run"};
  result.insert(result.end(), command.run_words.begin(), command.run_words.end());
  return result;
}

/// The words behind the program's name, mpiexec's translated.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (std::filesystem::path(argv[0]).filename() == "coracle-mpiexec") return run_words_of_mpiexec(words);
  if (words.empty() || words.front() != "mpiexec") return words;
  words.erase(words.begin());
  return run_words_of_mpiexec(words);
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
  app.add_subcommand("mpiexec", "As `run`, with the options that scripts give to mpiexec and mpirun");
  app.add_subcommand("bench", "Measure the library on this machine, beside the machine's limits");
  app.add_subcommand("gdb", "Start gdb on a rank, a launcher or a core file, with commands for coroutines");
  coracle::internals::add_pages_command(app, status);
  coracle::internals::add_questions_commands(app, status);
  coracle::internals::add_top_command(app, status);
  add_node_command(app, status);
  coracle::make_strict(app);
  std::vector<std::string> words;
  try {
    words = words_of(argc, argv);
    const auto is_named = [&](const CLI::App* command) { return command->get_name() == words.front(); };
    if (!words.empty() && !words.front().starts_with("-") && app.get_subcommands(is_named).empty()) {
      coracle::internals::say("there is no command '{}'; there are {}", words.front(), command_names(app));
      return kUsage;
    }
    if (!words.empty() && words.front() == "bench") exec_bench({words.begin() + 1, words.end()});
    if (!words.empty() && words.front() == "gdb") return coracle::internals::run_gdb({words.begin() + 1, words.end()});
    std::vector<const char*> pointers{argv[0]};
    for (const std::string& word : words) pointers.push_back(word.c_str());
    app.parse(coracle::words_for(app, static_cast<int>(pointers.size()), pointers.data()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {                           // --help, --version
      if (app.got_subcommand("bench")) exec_bench({"--help"});  // `coracle --help bench`
      return app.exit(error);
    }
    return wrong_usage(coracle::explain(app, error), words);
  } catch (const coracle::internals::WrongUsage& error) {
    return wrong_usage(error.what(), words);
  } catch (const std::exception& error) {
    coracle::internals::say("{}", error.what());
    return words.empty() && argc > 1 ? kUsage : 1;  // mpiexec's own words
  }
  return status;
}
