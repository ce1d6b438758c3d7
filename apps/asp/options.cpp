// The command line of `asp`.
#include "apps/asp/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include <coracle/coracle.hpp>
#include "apps/asp/min_plus.hpp"
#include "apps/asp/random_graph.hpp"
#include "apps/common/command_line.hpp"

namespace coracle::asp {
namespace {

constexpr const char* kDirect = "direct";
constexpr const char* kDpkgStatus = "/var/lib/dpkg/status";

// Options that stand for something else.
struct Words {
  bool dpkg = false;
  std::string format;
  std::string broadcast = kDirect;
};

void take_words(const Words& words, Options& options) {
  const std::map<std::string, GraphFormat> formats = {{"gr", GraphFormat::dimacs},
                                                      {"mtx", GraphFormat::matrix_market},
                                                      {"edges", GraphFormat::edge_list},
                                                      {"dpkg", GraphFormat::dpkg}};
  if (words.broadcast != kDirect) options.broadcast = parse_broadcast_choice(words.broadcast, "--broadcast");
  if (!words.format.empty()) options.format = formats.at(words.format);
  if (words.dpkg) {
    options.path = kDpkgStatus;
    options.format = GraphFormat::dpkg;
  }
}

void add_graph_options(CLI::App& app, Options& options, Words& words) {
  auto* const source = app.add_option_group("graph", "one of these");
  auto* const file =
      source->add_option("FILE", options.path, "a graph: DIMACS .gr, Matrix Market .mtx, or an edge list");
  source->add_flag("--dpkg", words.dpkg, "the dependencies of the packages installed on this machine");
  auto* const random = source->add_option("--random", options.random_vertices, "N vertices with random arcs")
                           ->type_name("N")
                           ->check(whole_number(1, kVerticesMax));
  source->require_option(1);
  app.add_option("--format", words.format, "how FILE is written: gr, mtx, edges, dpkg (by its extension)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"gr", "mtx", "edges", "dpkg"}))
      ->needs(file);
  app.add_option("--degree", options.degree, "with --random: arcs per vertex")
      ->type_name("D")
      ->check(whole_number(0, kVerticesMax))
      ->needs(random)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the random graph and of the verified sources")
      ->check(any_count())
      ->capture_default_str();
  app.add_flag("--undirected", options.undirected, "take every arc in both directions");
}

void add_broadcast_options(CLI::App& app, Options& options, Words& words) {
  app.add_option(
         "--broadcast", words.broadcast,
         "how pivots travel: direct (their owner puts them into all others' memory), or a broadcast: automatic, "
         "or plain, pipelined or competitive, with binomial, recursive_doubling or ring, chunk=SIZE, depth=N, "
         "fan_out=N: competitive,ring,chunk=64K")
      ->type_name("WORDS")
      ->check([](const std::string& text) -> std::string {
        if (text == kDirect) return "";
        try {
          parse_broadcast_choice(text, "--broadcast");
        } catch (const Error& error) {
          return error.what();
        }
        return "";
      })
      ->capture_default_str();
  app.add_option("--arrivals", options.trace_path,
                 "write when each rank came to each broadcast, for `coracle bench arrival`")
      ->type_name("FILE");
}

void add_run_options(CLI::App& app, Options& options) {
  app.add_option("--verify", options.verified_sources, "sources from which Dijkstra must find the same distances")
      ->type_name("SOURCES")
      ->check(any_count())
      ->capture_default_str();
  app.add_option("--block", options.block, "pivots per pass over the matrix (by the graph's size)")
      ->type_name("B")
      ->check([](const std::string& text) {
        std::string problem = whole_number(kPivotsStep, kPivotsMax)(text);
        if (!problem.empty() || std::stoul(text) % kPivotsStep == 0) return problem;
        return fmt::format("{} is no multiple of {}", text, kPivotsStep);
      });
  app.add_option("--top", options.top, "most central vertices to list")
      ->type_name("K")
      ->check(any_count())
      ->capture_default_str();
  app.add_flag("--progress", options.shows_progress, "show how far it is, on a terminal");
  app.add_option("--json", options.json_path, "write the results to a file too")->type_name("FILE");
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  CLI::App app("All-pairs shortest paths by Floyd-Warshall, over the ranks of a Coracle job.", "asp");
  Options options;
  Words words;
  add_graph_options(app, options, words);
  add_run_options(app, options);
  add_broadcast_options(app, options, words);
  app.callback([&] {
    if (app.count("--degree") > 0 && options.degree > options.random_vertices)
      throw CLI::ValidationError("--degree",
                                 "there are fewer vertices for these arcs to lead to; take less, or more by "
                                 "--random");
  });
  if (const std::optional<int> status = parse_command_line(app, argc, argv)) return *status;
  take_words(words, options);
  return options;
}

Graph load_graph(const Options& options) {
  Graph graph = options.path.empty() ? random_graph(options.random_vertices, options.degree, options.seed)
                                     : read_graph(options.path, options.format.value_or(format_of_path(options.path)));
  return options.undirected ? graph.undirected() : graph;
}

std::string describe_graph(const Options& options) {
  const char* const suffix = options.undirected ? ", both directions" : "";
  if (!options.path.empty()) return options.path + suffix;
  return fmt::format("random, degree {}, seed {}{}", options.degree, options.seed, suffix);
}

}  // namespace coracle::asp
