// What the user of `asp` asked for, and what is told in the end: a page for people, JSON for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

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

/// When the ranks came to the broadcast of each iteration: the unbalanced process arrival that a collective has to live
/// with (as in figure 22 of the paper on competitive and pipelined broadcast). Delays are after the first rank of the
/// same iteration.
struct Arrivals {
  struct Iteration {
    double mean_s;  ///< Over the ranks.
    double max_s;
    double root_s;  ///< Of the rank that has the data.
  };
  /// Delays below `below_s`, and not below that of the bin before.
  struct Bin {
    double below_s;
    std::uint64_t count;
  };

  std::uint32_t ranks = 0;
  std::vector<Iteration> iterations;
  std::vector<Bin> histogram;  ///< Of all delays but the first's, which are zero; powers of two.
  double mean_s = 0;           ///< Over the iterations.
  double max_s = 0;
};

/// `times_s`: of each iteration one per rank; `roots`: one per iteration. Of one rank there is nothing to say.
Arrivals arrivals_of(std::span<const double> times_s, std::span<const std::uint32_t> roots, std::uint32_t ranks);

/// Over ranks.
struct Spread {
  double min = 0;
  double mean = 0;
  double max = 0;
};

/// `values` holds one per rank, at least one.
Spread spread_of(const std::vector<double>& values);

struct Report {
  struct Central {
    std::string name;
    double closeness;
    std::size_t reached_by;
  };

  std::string graph;  ///< where it comes from
  std::size_t vertices = 0;
  std::size_t arcs = 0;
  std::uint64_t pairs = 0;  ///< ordered, reachable
  double mean_distance = 0;
  double diameter = 0;
  std::string diameter_source;
  std::string diameter_target;
  std::vector<Central> central;

  std::size_t verified_sources = 0;
  bool is_verified_exactly = false;  ///< else within the bound that compare_row states

  std::size_t ranks = 1;
  std::string placement;
  std::size_t block = 0;  ///< pivots per pass
  std::string broadcast;  ///< how pivots travelled
  Arrivals arrivals;      ///< at the broadcast of each block of pivots
  Spread computing_s;
  Spread waiting_s;
  double total_s = 0;

  std::string kernel;
  double operations = 0;     ///< (add, min) pairs done by all ranks
  double skipped_share = 0;  ///< of all vertices^3 pairs: those behind which nothing lies
  double kernel_rate = 0;    ///< (add, min) pairs per second of computing, of one rank
  double vector_limit = 0;   ///< the same on registers only, in this run
};

struct TextStyle {
  bool has_colours = false;
  bool has_unicode = false;

  /// What standard output can show: colours on a terminal unless NO_COLOR is set, Unicode where the locale is UTF-8.
  static TextStyle of_standard_output();
};

std::string to_text(const Report& report, TextStyle style);
std::string to_json(const Report& report);

}  // namespace coracle::asp
