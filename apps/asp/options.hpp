// What the user of `asp` asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <coracle/coracle.hpp>
#include "apps/asp/graph.hpp"
#include "apps/asp/readers.hpp"

namespace coracle::asp {

struct Options {
  std::string path;                   ///< empty: a random graph
  std::optional<GraphFormat> format;  ///< none: by the path's extension
  std::size_t random_vertices = 0;
  std::size_t degree = 8;
  std::uint64_t seed = 1;
  bool undirected = false;
  std::size_t verified_sources = 16;
  std::size_t block = 0;  ///< pivots per pass; 0: chosen by the graph's size
  std::size_t top = 10;
  bool shows_progress = false;
  std::string json_path;
  std::optional<BroadcastChoice> broadcast;  ///< How pivots travel; none: by puts of their owner to all others.
  std::string trace_path;                    ///< Where to write when the ranks came to each broadcast; "": nowhere.
};

/// The options, or the exit status with which to leave; see parse_command_line.
std::variant<Options, int> parse_options(int argc, char** argv);

/// Reads or draws the graph that the options name. Throws Error(Errc::bad_input).
Graph load_graph(const Options& options);

/// How the report calls that graph.
std::string describe_graph(const Options& options);

}  // namespace coracle::asp
