// `coracle run`: a program as the ranks of a job.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <utility>

#include "apps/coracle/commands.hpp"
#include "apps/coracle/run_words.hpp"
#include "runtime/launch/head_launcher.hpp"
#include "runtime/launch/launcher.hpp"
#include "runtime/launch/pmix_launcher.hpp"

namespace coracle::internals {
namespace {

void add_options_of_nodes(CLI::App& run, RunWords& words) {
  run.add_option("--nodes", words.nodes, "Nodes, each with its own shared memory: groups of consecutive ranks [1]");
  run.add_option("--hosts", words.hosts, "Machines, one node each, with ranks for each if you like: a,b or a:4,b:8");
  run.add_option("--ssh", words.shell,
                 "How to run a command on a host: COMMAND HOST ... (default: $CORACLE_SSH, or ssh -o BatchMode=yes)");
  run.add_option("--interface", words.interface,
                 "Which address of a node others use: a name (eth0) or a network (10.0.0.0/24)");
  run.add_option("--transport", words.transport,
                 "To other nodes: auto, tcp, verbs; or tca, between the ranks of one node")
      ->capture_default_str();
  run.add_option("--silence", words.silence, "A peer that owes an answer for so long is lost")->capture_default_str();
  run.add_option("--connections", words.connections, "A rank keeps at most so many open")->capture_default_str();
  run.add_flag("--survive", words.survive, "Go on when a rank is lost: operations with it fail");
}

void add_options(CLI::App& run, RunWords& words) {
  run.add_option("-n,--ranks", words.ranks, "Ranks (default: one per usable core); -np does as well");
  run.add_option("--place", words.placement,
                 "What a rank is: pvas (a process inside one shared address space; the default), process, thread, or "
                 "sim (simulated network, virtual time)");
  add_options_of_nodes(run, words);
  run.add_option("--segment", words.segment, "Memory of each rank that others may reach; taken when touched")
      ->capture_default_str();
  run.add_option("--timeout", words.timeout,
                 "End a job that takes longer (500ms, 30s, 5m; 30: seconds), and say what its ranks await");
  run.add_option("--seed", words.seed, "sim: repeats a schedule (default: 1)");
  run.add_option("--network", words.network, "sim: file with the network's model");
  run.add_option("--faults", words.faults,
                 "sim: what goes wrong, and when: a file, or `random` for what the seed decides");
  run.add_option("--intranode", words.intranode,
                 "How messages go inside a node: auto; pvas (one copy between addresses that ranks share); or, for "
                 "processes, shm (two copies, through shared memory) or cma (one copy by the kernel)")
      ->capture_default_str();
  run.add_option("--eager", words.eager, "Messages up to this are sent before they are asked for")
      ->capture_default_str();
  run.add_option("--unexpected", words.unexpected,
                 "Room of each rank for messages that nobody has asked for; shared out to its senders")
      ->capture_default_str();
  run.add_option("--bind", words.binding,
                 "core: one core per rank where there are enough; share: also where there are not; none")
      ->capture_default_str();
  run.add_flag("-v,--verbose", words.verbose, "Say what is started where");
}

int run_job(JobOptions options) {
  const bool alone = options.hosts.empty() && options.shape.nodes == 1 && options.shape.placement != Placement::sim;
  if (alone && PmixClient::is_wanted()) return PmixLauncher(std::move(options)).run();
  const bool apart = options.shape.nodes > 1 && options.shape.placement != Placement::sim;
  if (apart || !options.hosts.empty()) return HeadLauncher(std::move(options)).run();
  return Launcher(std::move(options)).run();
}

}  // namespace

void add_run_command(CLI::App& app, int& status) {
  auto words = std::make_shared<RunWords>();
  CLI::App* run =
      app.add_subcommand("run", "Run PROGRAM [ARGUMENTS...] as the ranks of a job; options go before PROGRAM");
  add_options(*run, *words);
  run->footer(
      "SIGUSR1 to the launcher makes every rank say what its coroutines await. Exit status: that of the first rank "
      "that fails (with --survive too), 128 + signal for one that is killed, 124 after --timeout, 2 for wrong usage.");
  run->prefix_command();
  run->callback([run, words, &status] {
    words->command = run->remaining();
    status = run_job(job_options(*words));
  });
}

}  // namespace coracle::internals
