// What `coracle bench ddt` is to measure: as words for the command line and for the ranks it starts, and as values.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "runtime/messages/message_way.hpp"

namespace coracle::internals::bench {

/// How a message of a pattern goes: by a way of the library's, or packed, sent in one piece, and unpacked.
enum class DdtWay { automatic, one_sided, cooperative, shm, cma, by_hand, by_library };

/// The library's own choice first.
inline constexpr DdtWay kDdtWays[] = {DdtWay::automatic, DdtWay::one_sided, DdtWay::cooperative, DdtWay::shm,
                                      DdtWay::cma,       DdtWay::by_hand,   DdtWay::by_library};

/// The library's way that it is; none for what is packed beforehand.
std::optional<MessageWay> message_way(DdtWay way) noexcept;
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
  std::vector<DdtWay> ways;  ///< Empty: all that can be.
  std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();
  int rounds = 0;
};

/// Adds the options to a command; `words` must outlive it. The patterns are an option of the command's own.
void add_ddt_options(CLI::App& command, DdtWords& words);
/// Throws CLI::ValidationError for words that mean nothing.
DdtOptions ddt_options(const DdtWords& words);
/// As arguments of another command with the same options, and `--pattern` for each pattern.
std::vector<std::string> to_arguments(const DdtWords& words);

}  // namespace coracle::internals::bench
