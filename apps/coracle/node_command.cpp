// `coracle node`: what `coracle run` starts on every node of a job. Not for users.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "apps/coracle/commands.hpp"
#include "runtime/launch/node_launcher.hpp"

namespace coracle::internals {

void add_node_command(CLI::App& app, int& status) {
  auto standard = std::make_shared<NodeLauncher::Standard>();
  CLI::App* node = app.add_subcommand("node", "One node of a job, for `coracle run`")->group("");
  node->add_option("--stdin", standard->input, "Descriptor of the ranks' standard input");
  node->add_option("--stdout", standard->output, "Descriptor of the ranks' standard output");
  node->callback([standard, &status] {
    NodeLauncher launcher(*standard);
    status = launcher.run();
  });
}

}  // namespace coracle::internals
