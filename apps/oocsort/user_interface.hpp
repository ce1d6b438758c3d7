// What the user of `oocsort` asked for, and what is told in the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <coracle/coracle.hpp>
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

struct Report {
  std::uint64_t records = 0;
  std::uint64_t record_bytes = 0;
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
  std::string placement;
  std::uint64_t memory = 0;  ///< Per rank.
  std::uint64_t runs = 0;
  std::uint64_t page_bytes = 0;
  double making_s = 0;  ///< Of the runs.
  double merging_s = 0;
  std::optional<double> verifying_s{};  ///< When it was verified.
  std::uint64_t checksum = 0;           ///< Of the records, if verified.
  PagedCounts pages{};                  ///< Of the segment.

  double bytes() const noexcept { return static_cast<double>(records) * static_cast<double>(record_bytes); }
  double total_s() const noexcept { return making_s + merging_s; }
};

std::string to_text(const Report& report);
std::string to_json(const Report& report);

}  // namespace coracle::oocsort
