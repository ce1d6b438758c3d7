// What the user of `oocsort` asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "apps/oocsort/record.hpp"

namespace coracle::oocsort {

struct Options {
  std::string input;
  std::string output;
  std::optional<std::uint64_t> generated;  ///< Records to write to `output` instead of sorting.
  RecordShape shape;
  std::uint64_t seed = 1;
  std::uint64_t memory = 0;      ///< Bytes per rank.
  std::uint64_t page_bytes = 0;  ///< 0: chosen.
  std::string scratch;           ///< A folder; empty: that of `output`.
  bool verify = false;
  bool force = false;
  bool quiet = false;
  std::string json_path;
};

/// The options, or the exit status with which to leave; see parse_command_line.
std::variant<Options, int> parse_options(int argc, char** argv);

}  // namespace coracle::oocsort
