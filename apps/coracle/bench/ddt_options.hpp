// What `coracle bench ddt` is to measure: as words for the command line and for the ranks it starts, and as values.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace coracle::bench {

/// How a message of a pattern goes: one that the library is told to take, or packed, sent in one piece, and unpacked.
enum class DdtWay { by_hand, by_library };

inline constexpr DdtWay kDdtWays[] = {DdtWay::by_hand, DdtWay::by_library};

const char* to_string(DdtWay way) noexcept;

/// As the user wrote them.
struct DdtWords {
  std::vector<std::string> patterns;  ///< Empty: all.
  std::vector<std::string> ways;      ///< Empty: all that can be.
  std::string bytes_max;              ///< Empty: no limit.
  std::int64_t rounds = 0;            ///< 0: the benchmark chooses.
};

struct DdtOptions {
  std::vector<std::string> patterns;
  std::vector<DdtWay> ways;
  std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();
  int rounds = 0;
};

/// Adds the options to a command; `words` must outlive it. The patterns are an option of the command's own.
void add_ddt_options(CLI::App& command, DdtWords& words);
/// Throws CLI::ValidationError for words that mean nothing.
DdtOptions ddt_options(const DdtWords& words);
/// As arguments of another command with the same options, and `--pattern` for each pattern.
std::vector<std::string> to_arguments(const DdtWords& words);

}  // namespace coracle::bench
