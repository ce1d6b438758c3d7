// What the user of `fft2d` asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

namespace coracle::fft2d {

struct Options {
  std::size_t rows = 1024;
  std::size_t columns = 1024;
  std::size_t repetitions = 10;
  std::uint64_t seed = 1;
  bool verify = false;  ///< Also where the grid is large.
  std::string json_path;
  std::string image;  ///< A picture to filter; empty: a grid of random numbers.
  std::string out;
  double cutoff = 0.1;
};

/// The options, or the exit status with which to leave; see parse_command_line.
std::variant<Options, int> parse_options(int argc, char** argv);

}  // namespace coracle::fft2d
