// What the user of `bfs` asked for, and what is told in the end.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apps/bfs/readers.hpp"

namespace coracle::bfs {

struct Options {
  std::string path;                           ///< A text with edges; or else:
  std::string wordnet;                        ///< the folder of WordNet's files; or else:
  std::uint32_t scale = 0;                    ///< a Kronecker graph.
  TextFormat format = TextFormat::edge_list;  ///< Of `path`.
  std::uint64_t edge_factor = 16;
  std::uint64_t seed = 1;
  bool directed = false;
  std::string root;  ///< A vertex's name; empty: random ones.
  std::uint64_t roots = 1;
  bool verify = false;
  std::uint64_t memory = 0;  ///< Bytes per rank, while the graph is built.
  std::uint64_t cache_bytes = 0;
  std::uint64_t page_bytes = 0;
  std::string scratch = ".";
  bool quiet = false;
  std::string json_path;
};

/// The options, or the exit status with which to leave; see parse_command_line.
std::variant<Options, int> parse_options(int argc, char** argv);

/// How the report calls the graph.
std::string describe_graph(const Options& options);

struct Report {
  struct Found {
    std::string root;
    std::uint64_t reached = 0;
    std::uint64_t edges = 0;              ///< Between vertices that were reached: half of their arcs; directed: all.
    std::vector<std::uint64_t> levels{};  ///< Vertices on each.
    std::uint64_t digest = 0;             ///< Of all levels and parents.
    double seconds = 0;

    double teps() const noexcept { return seconds > 0 ? static_cast<double>(edges) / seconds : 0; }
  };

  std::string graph;
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;  ///< Of the input.
  std::uint64_t arcs = 0;   ///< Of the paged graph: two for an edge that is no loop, or one.
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
  std::string placement;
  std::uint64_t page_bytes = 0;
  std::uint64_t cache_bytes = 0;
  double loading_s = 0;
  double building_s = 0;
  std::vector<Found> searches;
  PagedCounts counts;  ///< Of the arcs' array while they were searched, of all caches.
  bool verified = false;

  /// Harmonic, as Graph500 asks for; 0 when nothing was traversed.
  double mean_teps() const noexcept;
};

std::string to_text(const Report& report);
std::string to_json(const Report& report);

}  // namespace coracle::bfs
