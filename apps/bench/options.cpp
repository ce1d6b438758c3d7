// From words to what is asked for.
#include "apps/bench/benchmark.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "apps/common/command_line.hpp"
#include "apps/common/units.hpp"

namespace coracle::internals::bench {
namespace {

/// Of `coll`: the buffers of every rank hold one block per rank.
constexpr std::uint64_t kSizeMax = 16 << 20;

/// The options of all benchmarks as the user wrote them; those that need no more than CLI11 does are in the request.
struct Words {
  std::vector<std::string> names;
  std::vector<std::string> ranks;
  std::string placement;
  std::string nodes = "1";
  std::string transport = "auto";
  std::vector<std::string> sizes;
  std::string seed;
};

std::string names_of_all(const Benchmarks& benchmarks) {
  std::string names;
  for (const auto& benchmark : benchmarks) names += fmt::format("{}, ", benchmark->facts().name);
  return names + "all";
}

void select(const Benchmarks& benchmarks, const std::string& name, std::vector<Benchmark*>& selected) {
  const auto add = [&selected](Benchmark* benchmark) {  // once, however often it is named
    if (std::find(selected.begin(), selected.end(), benchmark) == selected.end()) selected.push_back(benchmark);
  };
  if (name == "all") {
    for (const auto& benchmark : benchmarks)
      if (benchmark->facts().in_all) add(benchmark.get());
  } else if (Benchmark* const benchmark = find_benchmark(benchmarks, name)) {
    add(benchmark);
  } else {
    wrong(fmt::format("no benchmark is named '{}'; there are {}", name, names_of_all(benchmarks)));
  }
}

void set_ranks(const Words& words, Request& request) {
  for (const std::string& ranks : words.ranks) request.ranks.push_back(number_of("-n", ranks));
  for (const Benchmark* benchmark : request.benchmarks) {
    const Benchmark::Facts facts = benchmark->facts();
    for (const std::uint32_t ranks : request.ranks)
      if (ranks < facts.ranks_min)
        wrong(fmt::format("-n {}: {} needs at least {} ranks", ranks, facts.name, facts.ranks_min));
  }
}

void set_placement(const Words& words, Request& request) {
  if (words.placement.empty()) return;
  request.placement = parse_placement(words.placement);
  if (!request.placement) wrong(fmt::format("--place {}: must be pvas, process, thread or sim", words.placement));
}

void set_transport(const Words& words, Request& request) {
  for (const std::uint32_t ranks : request.ranks)
    if (ranks < request.nodes) wrong(fmt::format("--nodes {}: there are only {} ranks", request.nodes, ranks));
  if (request.nodes > 1) {
    for (const Benchmark* benchmark : request.benchmarks)
      if (!benchmark->facts().between_nodes)
        wrong(fmt::format("--nodes {}: {} is about one node", request.nodes, benchmark->facts().name));
  }
  if (words.transport == "auto") return;
  if (request.nodes == 1) wrong("--transport: only --nodes 2 and more use one");
  if (words.transport == "tcp")
    request.transport = RemoteTransport::tcp;
  else if (words.transport == "verbs")
    request.transport = RemoteTransport::verbs;
  else
    wrong(fmt::format("--transport {}: must be auto, tcp or verbs", words.transport));
}

bool is_any_set(const CommandLine& app, std::string names) {
  std::replace(names.begin(), names.end(), ',', ' ');
  std::istringstream stream(names);
  for (std::string name; stream >> name;)
    if (app.option(name).is_changed()) return true;
  return false;
}

bool reads(const Benchmark& benchmark, const std::string& options) {
  const Benchmark::Facts facts = benchmark.facts();
  return std::find(facts.reads.begin(), facts.reads.end(), options) != facts.reads.end();
}

/// Of the benchmarks that read these options: the one first that has added them, then by the alphabet.
std::vector<std::string> readers_of(const CommandLine& app, const Benchmarks& benchmarks, const std::string& options) {
  const std::string owner = app.option(options.substr(0, options.find(','))).group_name();
  std::vector<std::string> names;
  for (const auto& benchmark : benchmarks)
    if (reads(*benchmark, options)) names.emplace_back(benchmark->facts().name);
  std::sort(names.begin(), names.end(), [&owner](const std::string& left, const std::string& right) {
    return std::pair(left != owner, left) < std::pair(right != owner, right);
  });
  return names;
}

/// An option that none of the chosen benchmarks reads would mislead who gave it.
void check_read(const CommandLine& app, const Benchmarks& benchmarks, const Request& request) {
  for (const auto& benchmark : benchmarks) {
    for (const std::string& options : benchmark->facts().reads) {
      const auto does = [&options](const Benchmark* each) { return reads(*each, options); };
      if (is_any_set(app, options) && std::none_of(request.benchmarks.begin(), request.benchmarks.end(), does))
        wrong(fmt::format("{}: is only for {}", options, fmt::join(readers_of(app, benchmarks, options), ", ")));
    }
  }
}

/// Each name must mean something to one of the chosen benchmarks.
void check_only(const Benchmarks& benchmarks, const Request& request) {
  std::vector<std::string> known;
  for (const auto& benchmark : benchmarks) {
    const auto& chosen = request.benchmarks;
    if (std::find(chosen.begin(), chosen.end(), benchmark.get()) == chosen.end()) continue;
    const std::vector<std::string> parts = benchmark->parts();
    known.insert(known.end(), parts.begin(), parts.end());
  }
  for (const std::string& name : request.choices.only)
    if (std::find(known.begin(), known.end(), name) == known.end())
      wrong(fmt::format("--only {}: there are {}", name, fmt::join(known, ", ")));
}

void set_sizes(const Words& words, Request& request) {
  for (const std::string& size : words.sizes) {
    const auto bytes = parse_bytes(size);
    if (!bytes || *bytes == 0 || *bytes % 8 != 0 || *bytes > kSizeMax)
      wrong(fmt::format("--sizes {}: must be a multiple of 8 bytes, at most 16M", size));
    request.choices.sizes.push_back(*bytes);
  }
}

void set_simulation(const Words& words, Request& request) {
  if (!words.seed.empty()) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    const auto seed = parse_whole(words.seed, 0, kMost);
    if (!seed) wrong(fmt::format("--seed {}: must be from 0 to {}", words.seed, kMost));
    if (!request.in_sim()) wrong("--seed: only --place sim has a schedule to repeat; add that, or leave it out");
    request.seed = *seed;
  }
  if (request.network_file.empty()) return;
  if (!request.in_sim()) wrong("--network: only the simulated network of --place sim reads a model");
  if (request.network_file.size() >= JobShape().network_file.size())
    wrong(fmt::format("--network: the path is longer than {} characters", JobShape().network_file.size() - 1));
}

void check_simulation(const Request& request) {
  if (!request.in_sim()) return;
  for (const Benchmark* benchmark : request.benchmarks)
    if (!benchmark->facts().in_sim)
      wrong(fmt::format("--place sim: in its virtual time {} has no meaning", benchmark->facts().name));
}

/// Those of all benchmarks stand before and behind those that each of them has, as the help shows them.
void add_options(CommandLine& app, const Benchmarks& benchmarks, Words& words, Request& request) {
  app.add_option("NAME", words.names, "Which: " + names_of_all(benchmarks) + " (but pagetables)").required();
  app.add_option("-n,--ranks", words.ranks,
                 "Ranks; several with commas (barrier, coll, pages, pagetables, spawn, tune: a job for each)")
      .separated_by(',');
  app.add_option("--place", words.placement,
                 "pvas, process or thread (default: pvas; pagetables, spawn: pvas beside process); coll, pages, "
                 "arrival: also sim");
  app.add_option("--nodes", words.nodes,
                 "put, get, am, atomics, spawn, coll, pages, arrival, tune: nodes on this machine")
      .show_default();
  app.add_option("--transport", words.transport, "To other nodes: auto, tcp, verbs").show_default();
  app.add_option("--sizes", words.sizes, "coll, pagetables, pingpong, arrival: sizes, with commas: 8,1K,1M")
      .separated_by(',');
  app.add_option("--only", request.choices.only, "coll, ddt: only these collectives or patterns, with commas")
      .separated_by(',');
  // The groups stand in the help in the order in which they come to be.
  Benchmark* const first = find_benchmark(benchmarks, "arrival");
  first->add_options(app, request.choices);
  for (const auto& benchmark : benchmarks)
    if (benchmark.get() != first) benchmark->add_options(app, request.choices);
  app.add_flag("--quick", request.quick, "Few and short batches: only shows that it works");
  app.add_option("--json", request.json_file, "Also write the figures to this file");
  app.add_option("--network", request.network_file, "sim: file with the network's model");
  app.add_option("--seed", words.seed, "sim: repeats a schedule (default: 1)");
  std::string list;
  for (const auto& benchmark : benchmarks)
    list += fmt::format("  {:<10} {}\n", benchmark->facts().name, benchmark->facts().help);
  app.set_footer(list);
}

}  // namespace

std::variant<Request, std::string> parse(const Benchmarks& benchmarks, int argc, const char* const* argv) {
  CommandLine app("Measure the library on this machine, beside the machine's limits", "coracle bench");
  Words words;
  Request request;
  add_options(app, benchmarks, words, request);
  if (std::optional<std::string> help = app.read(argc, argv)) return std::move(*help);
  for (const std::string& name : words.names) select(benchmarks, name, request.benchmarks);
  set_ranks(words, request);
  request.nodes = number_of("--nodes", words.nodes);
  set_placement(words, request);
  check_read(app, benchmarks, request);
  for (Benchmark* benchmark : request.benchmarks) benchmark->check(request);
  set_transport(words, request);
  check_only(benchmarks, request);
  set_sizes(words, request);
  set_simulation(words, request);
  check_simulation(request);
  return request;
}

}  // namespace coracle::internals::bench
