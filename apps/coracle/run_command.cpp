// `coracle run`: a program as the ranks of a job.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "apps/coracle/commands.hpp"
#include "apps/coracle/units.hpp"
#include "runtime/error.hpp"
#include "runtime/launch/cores.hpp"
#include "runtime/launch/head_launcher.hpp"
#include "runtime/launch/launcher.hpp"
#include "transports/connect.hpp"

namespace coracle {
namespace {

/// The options as the user wrote them.
struct Words {
  std::int64_t ranks = 0;
  std::string placement = "pvas";
  std::int64_t nodes = 1;
  std::string segment = "1G";
  std::string timeout;
  std::uint64_t seed = 1;
  std::string network;
  std::string binding = "core";
  bool verbose = false;
  std::vector<std::string> command;
};

[[noreturn]] void wrong(const std::string& what) {
  throw CLI::ValidationError(what);
}

std::uint32_t count(const char* option, std::int64_t value) {
  constexpr std::int64_t kMost = 1 << 20;
  if (value < 1 || value > kMost) wrong(fmt::format("{} {}: must be from 1 to {}", option, value, kMost));
  return static_cast<std::uint32_t>(value);
}

void set_network(const std::string& path, JobShape& shape) {
  if (path.empty()) return;
  if (shape.placement != Placement::sim) wrong("--network: only the simulated network of --place sim reads a model");
  if (path.size() >= shape.network_file.size())
    wrong(fmt::format("--network: the path is longer than {} characters", shape.network_file.size() - 1));
  if (::access(path.c_str(), R_OK) != 0) throw_errno(errno, fmt::format("can't read the network model {}", path));
  path.copy(shape.network_file.data(), path.size());
}

JobOptions options_from(const Words& words) {
  JobOptions options;
  JobShape& shape = options.shape;
  const auto placement = parse_placement(words.placement);
  if (!placement) wrong(fmt::format("--place {}: must be pvas, process, thread or sim", words.placement));
  shape.placement = *placement;
  shape.size = count("-n", words.ranks);
  shape.nodes = count("--nodes", words.nodes);
  if (shape.nodes > shape.size) {
    wrong(fmt::format("--nodes {}: there are only {} rank{}, and every node needs one", shape.nodes, shape.size,
                      shape.size == 1 ? "" : "s"));
  }
  const auto segment = parse_bytes(words.segment);
  if (!segment) wrong(fmt::format("--segment {}: must be a size such as 64M or 1G", words.segment));
  shape.segment_bytes = *segment;
  // The largest node's: of uneven ones the first has a rank more.
  const std::uint32_t nodes_apart = shape.placement == Placement::sim ? 1 : shape.nodes;
  shape.inbox_bytes = transport_inbox_bytes((shape.size + nodes_apart - 1) / nodes_apart);
  shape.seed = words.seed;
  set_network(words.network, shape);
  if (!words.timeout.empty()) {
    options.timeout = parse_duration(words.timeout);
    if (!options.timeout) wrong(fmt::format("--timeout {}: must be a time such as 500ms, 30s or 5m", words.timeout));
  }
  if (words.binding != "core" && words.binding != "none")
    wrong(fmt::format("--bind {}: must be core or none", words.binding));
  options.binding = words.binding == "core" ? Binding::core : Binding::none;
  options.verbose = words.verbose;
  if (words.command.empty()) wrong("the program to run is missing");
  if (words.command.front().substr(0, 1) == "-")
    wrong(fmt::format("unknown option {} (options of the program go after its name)", words.command.front()));
  options.program = words.command.front();
  options.arguments.assign(words.command.begin() + 1, words.command.end());
  return options;
}

}  // namespace

void add_run_command(CLI::App& app, int& status) {
  auto words = std::make_shared<Words>();
  CLI::App* run =
      app.add_subcommand("run", "Run PROGRAM [ARGUMENTS...] as the ranks of a job; options go before PROGRAM");
  run->add_option("-n,--ranks", words->ranks, "Ranks (default: one per usable core)");
  run->add_option(
         "--place", words->placement,
         "What a rank is: pvas (a process inside one shared address space), process, thread, or sim (simulated "
         "network, virtual time)")
      ->capture_default_str();
  run->add_option("--nodes", words->nodes, "Nodes, each with its own shared memory: groups of consecutive ranks")
      ->capture_default_str();
  run->add_option("--segment", words->segment, "Memory of each rank that others may reach; taken when touched")
      ->capture_default_str();
  run->add_option("--timeout", words->timeout,
                  "End a job that takes longer (500ms, 30s, 5m), and say what its ranks await");
  run->add_option("--seed", words->seed, "sim: repeats a schedule")->capture_default_str();
  run->add_option("--network", words->network, "sim: file with the network's model");
  run->add_option("--bind", words->binding, "core: one core per rank where there are enough; none")
      ->capture_default_str();
  run->add_flag("-v,--verbose", words->verbose, "Say what is started where");
  run->footer(
      "SIGUSR1 to the launcher makes every rank say what its coroutines await. Exit status: that of the first rank "
      "that fails, "
      "128 + signal for one that is killed, 124 after --timeout, 2 for wrong usage.");
  run->prefix_command();
  run->callback([run, words, &status] {
    words->command = run->remaining();
    if (run->count("--ranks") == 0) words->ranks = static_cast<std::int64_t>(usable_cores().size());
    JobOptions options = options_from(*words);
    if (options.shape.nodes > 1 && options.shape.placement != Placement::sim) {
      status = HeadLauncher(std::move(options)).run();
    } else {
      status = Launcher(std::move(options)).run();
    }
  });
}

}  // namespace coracle
