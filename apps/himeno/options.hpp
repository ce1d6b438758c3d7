// What the user of `himeno` asked for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "apps/himeno/block.hpp"

namespace coracle::himeno {

inline constexpr std::size_t kIterationsMax = 10'000'000;

struct Options {
  std::string size_name;  ///< S, M, ...; empty: only numbers were given.
  Triple size = {};
  std::optional<Triple> ranks;  ///< None: what arrange() finds.
  double time_s = 60;
  std::optional<std::size_t> iterations;  ///< None: as many as fit the time.
  std::optional<int> gpu;                 ///< Its number, or GpuOptions::kByRank; none: the processor.
  double sim_mflops = 0;                  ///< Of a rank, in `sim`; 0: sums take no time.
  bool skips_limit = false;               ///< What the memory allows is not measured.
  bool verify = false;
  bool shows_progress = false;
  std::string history_path;
  std::string json_path;
};

/// The options, or the exit status with which to leave; see parse_command_line.
std::variant<Options, int> parse_options(int argc, char** argv);

}  // namespace coracle::himeno
