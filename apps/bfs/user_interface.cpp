// The command line of `bfs`, and its report: lines and JSON.
#include "apps/bfs/user_interface.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/bfs/edge.hpp"
#include "apps/common/command_line.hpp"

namespace coracle::bfs {
namespace {

void add_graph_options(OptionGroup& app, Options& options, std::string& format) {
  OptionGroup source = app.add_choice("graph", "one of these");
  const Option file = source.add_option(
      "FILE", options.path,
      "a list of edges (FROM TO per line, # and % begin comments), DIMACS .gr, or Matrix Market .mtx");
  source
      .add_option("--wordnet", options.wordnet,
                  "WordNet's synsets and their pointers, in this folder (Debian's wordnet-base: /usr/share/wordnet)")
      .type_name("FOLDER");
  const Option kronecker = source.add_option("--kronecker", options.scale, "a graph of 2^SCALE vertices as Graph500's")
                               .type_name("SCALE")
                               .check(whole_number(1, kScaleMax));
  app.add_value("--format", format, "FORMAT", "how FILE is written: edges, gr, mtx (by its extension)",
                one_of({"edges", "gr", "mtx"}))
      .needs(file);
  app.add_value("--edge-factor", options.edge_factor, "N", "with --kronecker: edges per vertex", whole_number(1, 1024))
      .needs(kronecker);
  app.add_option("--seed", options.seed, "of the Kronecker graph and of the random roots")
      .check(any_count())
      .show_default();
  app.add_flag("--directed", options.directed, "follow edges in their direction only");
}

void add_run_options(OptionGroup& app, Options& options) {
  const Option root =
      app.add_option("--root", options.root, "where to begin: a vertex's name, or its number in a Kronecker graph");
  app.add_value("--roots", options.roots, "N", "begin at so many random vertices, one search after the other",
                whole_number(1, 10'000))
      .excludes(root);
  app.add_flag("--verify", options.verify,
               "compare with a search in the memory of rank 0, which must hold the whole graph");
  app.add_size(
      "--cache", options.cache_bytes, "64M",
      "of the paged arcs, for each node (in sim: for each rank), from the segment of its first rank; while the "
      "graph is built, of two more arrays, too",
      byte_size(256 << 10, std::uint64_t{1} << 46));
  app.add_size("--page", options.page_bytes, "16K", "a power of two", page_size());
  app.add_size("--memory", options.memory, "256M", "of each rank for the edges at hand while the graph is built",
               byte_size(1 << 20, std::uint64_t{1} << 46));
  app.add_value("--scratch", options.scratch, "FOLDER", "where the arcs' files shall be, on every node");
  app.add_flag("--quiet", options.quiet, "no progress and no summary");
  app.add_option("--json", options.json_path, "write the results to a file too").type_name("FILE");
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  CommandLine app(
      "Breadth-first search, over the ranks of a Coracle job, in a graph whose edges are larger than memory: they lie "
      "in a paged array on the nodes' SSDs.",
      "bfs");
  Options options;
  std::string format;
  add_graph_options(app, options, format);
  add_run_options(app, options);
  const auto check = [&options] {
    if (options.cache_bytes < 16 * options.page_bytes)
      internals::wrong("--cache: it holds fewer than 16 pages; enlarge it, or take smaller ones by --page");
  };
  if (const std::optional<int> status = app.parse(argc, argv, check)) return *status;
  options.format = format == "gr"      ? TextFormat::dimacs
                   : format == "mtx"   ? TextFormat::matrix_market
                   : format == "edges" ? TextFormat::edge_list
                                       : format_of_path(options.path);
  return options;
}

std::string describe_graph(const Options& options) {
  const char* const suffix = options.directed ? ", directed" : "";
  if (!options.path.empty()) return options.path + suffix;
  if (!options.wordnet.empty()) return fmt::format("WordNet in {}{}", options.wordnet, suffix);
  return fmt::format("Kronecker, scale {}, edge factor {}, seed {}{}", options.scale, options.edge_factor, options.seed,
                     suffix);
}

namespace {

std::string search_line(const Report::Found& found) {
  std::string line =
      fmt::format("  from {}: {} vertices on {} levels, {} edges, {:.3f} s: {:.2f} million TEPS\n", found.root,
                  found.reached, found.levels.size(), found.edges, found.seconds, found.teps() * 1e-6);
  line += "   ";
  for (const std::uint64_t size : found.levels) line += fmt::format(" {}", size);
  return line + "\n";
}

}  // namespace

double Report::mean_teps() const noexcept {
  double inverses = 0;
  std::size_t traversed = 0;
  for (const Found& found : searches) {
    if (found.teps() <= 0) continue;
    inverses += 1 / found.teps();
    ++traversed;
  }
  return traversed > 0 ? static_cast<double>(traversed) / inverses : 0;
}

std::string to_text(const Report& report) {
  std::string text = fmt::format("{}: {} vertices, {} edges\n", report.graph, report.vertices, report.edges);
  text += fmt::format("  arcs: {:.1f} MB in pages of {} bytes, on {} rank{} with caches of {:.1f} MB\n",
                      static_cast<double>(report.arcs * sizeof(Vertex)) * 1e-6, report.page_bytes, report.ranks,
                      report.ranks == 1 ? "" : "s", static_cast<double>(report.cache_bytes) * 1e-6);
  text += fmt::format("  loaded in {:.2f} s, built in {:.2f} s\n", report.loading_s, report.building_s);
  for (const Report::Found& found : report.searches) text += search_line(found);
  if (report.searches.size() > 1)
    text +=
        fmt::format("  mean of {} searches: {:.2f} million TEPS\n", report.searches.size(), report.mean_teps() * 1e-6);
  text += fmt::format("  pages: {} hits, {} misses, {} read from SSDs, {} from peers, {} evicted\n", report.counts.hits,
                      report.counts.misses, report.counts.ssd_reads, report.counts.from_peers, report.counts.evictions);
  if (report.verified) text += "  verified: levels as by a serial search in memory, and parents that form a tree\n";
  return text;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report::Found, root, reached, edges, levels, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, graph, vertices, edges, arcs, ranks, nodes, placement, page_bytes,
                                   cache_bytes, loading_s, building_s, verified)

std::string to_json(const Report& report) {
  nlohmann::json object = report;
  object["searches"] = nlohmann::json::array();
  for (const Report::Found& found : report.searches) {
    object["searches"].push_back(found);
    object["searches"].back()["digest"] = fmt::format("{:016x}", found.digest);
    object["searches"].back()["teps"] = found.teps();
  }
  object["mean_teps"] = report.mean_teps();
  object["pages"] = {{"hits", report.counts.hits},
                     {"misses", report.counts.misses},
                     {"ssd_reads", report.counts.ssd_reads},
                     {"from_peers", report.counts.from_peers},
                     {"evictions", report.counts.evictions}};
  return object.dump(2) + "\n";
}

}  // namespace coracle::bfs
