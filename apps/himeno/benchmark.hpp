// What the user of `himeno` asked for, and the benchmark from its checks to its report.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "apps/himeno/block.hpp"
#include "apps/himeno/gpu_device.hpp"

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

/// Every rank calls it; rank 0 prints. `gpu` counts where the options ask for one. Throws Error: what does not go
/// together, what is not there, and, with `verify`, what is not as in a serial run.
Task<> run_all(Rank& self, const Options& options, GpuChoice gpu);

}  // namespace coracle::himeno
