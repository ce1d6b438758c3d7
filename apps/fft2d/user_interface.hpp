// What the user of `fft2d` asked for, and what is told in the end: some lines for people, JSON for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

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

struct Report {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t ranks = 1;
  std::string placement;
  // Of each transform:
  std::vector<double> seconds;      ///< Of the slowest rank.
  std::vector<double> transposing;  ///< Share of all ranks' time, from 0 to 1, waiting for others included.
  std::optional<double>
      difference;       ///< Largest one from the serial transform, by the largest value; none: not compared.
  double serial_s = 0;  ///< The serial transform, if compared.

  double median_s() const;
  double median_share() const;
  /// Bytes that both transpositions of a transform move, by the time they take.
  double transposed_bytes_per_s() const;
};

std::string to_text(const Report& report);
std::string to_json(const Report& report);

}  // namespace coracle::fft2d
