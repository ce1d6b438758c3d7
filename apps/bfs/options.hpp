// What the user of `bfs` asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

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

}  // namespace coracle::bfs
