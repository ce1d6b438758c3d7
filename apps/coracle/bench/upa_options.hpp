// What `coracle bench upa` is to measure: as words for the command line and for the ranks it starts, and as values.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/coracle/bench/arrivals.hpp"
#include "runtime/broadcast_choice.hpp"

namespace coracle::internals::bench {

/// Sizes of the message, unless the user has chosen others.
inline constexpr std::uint64_t kUpaSizes[] = {12 << 10, 92 << 10};

/// As the user wrote them.
struct UpaWords {
  std::vector<std::string> delays{"0", "500us"};
  std::vector<std::string> methods{"plain", "pipelined", "competitive"};
  std::vector<std::string> trees{"binomial"};
  std::string arrival = "uniform";
  std::string chunk;  // empty: by the cost model; as the next two
  std::int64_t depth = 0;
  std::int64_t fan_out = 0;
  std::int64_t iterations = 0;
  std::int64_t arrival_seed = 1;
};

struct UpaOptions {
  std::vector<std::uint64_t> delays_ns;  ///< K: twice the mean of how late a rank is.
  std::vector<BroadcastMethod> methods;
  std::vector<BroadcastTree> trees;
  BroadcastChoice details;  ///< Chunks, depth and fan-out.
  Arrivals arrivals;
  std::uint64_t iterations;  ///< 0: the benchmark chooses.
};

/// Adds the options to a command; `words` must outlive it.
void add_upa_options(CLI::App& command, UpaWords& words);
/// Throws CLI::ValidationError for words that mean nothing, Error for a bad trace.
UpaOptions upa_options(const UpaWords& words);
/// As arguments of another command with the same options.
std::vector<std::string> to_arguments(const UpaWords& words);

const char* to_string(BroadcastMethod method) noexcept;
const char* to_string(BroadcastTree tree) noexcept;

}  // namespace coracle::internals::bench
