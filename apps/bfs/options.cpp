// The command line of `bfs`.
#include "apps/bfs/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/bfs/kronecker.hpp"
#include "apps/common/command_line.hpp"

namespace coracle::bfs {
namespace {

struct Words {
  std::string format;
  std::string memory = "256M";
  std::string cache = "64M";
  std::string page = "16K";
};

void add_graph_options(CLI::App& app, Options& options, Words& words) {
  auto* const source = app.add_option_group("graph", "one of these");
  auto* const file = source->add_option(
      "FILE", options.path,
      "a list of edges (FROM TO per line, # and % begin comments), DIMACS .gr, or Matrix Market .mtx");
  source
      ->add_option("--wordnet", options.wordnet,
                   "WordNet's synsets and their pointers, in this folder (Debian's wordnet-base: /usr/share/wordnet)")
      ->type_name("FOLDER");
  auto* const kronecker = source->add_option("--kronecker", options.scale, "a graph of 2^SCALE vertices as Graph500's")
                              ->type_name("SCALE")
                              ->check(whole_number(1, kScaleMax));
  source->require_option(1);
  app.add_option("--format", words.format, "how FILE is written: edges, gr, mtx (by its extension)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"edges", "gr", "mtx"}))
      ->needs(file);
  app.add_option("--edge-factor", options.edge_factor, "with --kronecker: edges per vertex")
      ->type_name("N")
      ->check(whole_number(1, 1024))
      ->needs(kronecker)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the Kronecker graph and of the random roots")
      ->check(any_count())
      ->capture_default_str();
  app.add_flag("--directed", options.directed, "follow edges in their direction only");
}

void add_run_options(CLI::App& app, Options& options, Words& words) {
  auto* const root = app.add_option("--root", options.root,
                                    "where to begin: a vertex's name, or its number in a "
                                    "Kronecker graph");
  app.add_option("--roots", options.roots, "begin at so many random vertices, one search after the other")
      ->type_name("N")
      ->check(whole_number(1, 10'000))
      ->excludes(root)
      ->capture_default_str();
  app.add_flag("--verify", options.verify,
               "compare with a search in the memory of rank 0, which must hold the whole graph");
  app.add_option("--cache", words.cache,
                 "of the paged arcs, for each node (in sim: for each rank), from the segment of its first rank; while "
                 "the graph is "
                 "built, of two more arrays, too")
      ->type_name("SIZE")
      ->check(byte_size(256 << 10, std::uint64_t{1} << 46))
      ->capture_default_str();
  app.add_option("--page", words.page, "a power of two")->type_name("SIZE")->check(page_size())->capture_default_str();
  app.add_option("--memory", words.memory, "of each rank for the edges at hand while the graph is built")
      ->type_name("SIZE")
      ->check(byte_size(1 << 20, std::uint64_t{1} << 46))
      ->capture_default_str();
  app.add_option("--scratch", options.scratch, "where the arcs' files shall be, on every node")
      ->type_name("FOLDER")
      ->capture_default_str();
  app.add_flag("--quiet", options.quiet, "no progress and no summary");
  app.add_option("--json", options.json_path, "write the results to a file too")->type_name("FILE");
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  CLI::App app(
      "Breadth-first search, over the ranks of a Coracle job, in a graph whose edges are larger than memory: they lie "
      "in "
      "a paged array on the nodes' SSDs.",
      "bfs");
  Options options;
  Words words;
  add_graph_options(app, options, words);
  add_run_options(app, options, words);
  app.callback([&] {
    if (bytes_of(words.cache) < 16 * bytes_of(words.page))
      throw CLI::ValidationError("--cache", "it holds fewer than 16 pages; enlarge it, or take smaller ones by --page");
  });
  if (const std::optional<int> status = parse_command_line(app, argc, argv)) return *status;
  options.format = words.format == "gr"      ? TextFormat::dimacs
                   : words.format == "mtx"   ? TextFormat::matrix_market
                   : words.format == "edges" ? TextFormat::edge_list
                                             : format_of_path(options.path);
  options.memory = bytes_of(words.memory);
  options.cache_bytes = bytes_of(words.cache);
  options.page_bytes = bytes_of(words.page);
  return options;
}

std::string describe_graph(const Options& options) {
  const char* const suffix = options.directed ? ", directed" : "";
  if (!options.path.empty()) return options.path + suffix;
  if (!options.wordnet.empty()) return fmt::format("WordNet in {}{}", options.wordnet, suffix);
  return fmt::format("Kronecker, scale {}, edge factor {}, seed {}{}", options.scale, options.edge_factor, options.seed,
                     suffix);
}

}  // namespace coracle::bfs
