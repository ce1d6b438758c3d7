// What `coracle bench arrival` is to measure.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/bench/arrival/arrivals.hpp"
#include "runtime/team/broadcast_choice.hpp"

namespace coracle::internals::bench {

class ArrivalOptions {
 public:
  std::vector<std::uint64_t> delays_ns;  ///< K: twice the mean of how late a rank is.
  std::vector<BroadcastMethod> methods;
  std::vector<BroadcastTree> trees;
  BroadcastChoice details;  ///< Chunks, depth and fan-out.
  Arrivals arrivals{"uniform", 1};
  std::uint64_t iterations = 0;  ///< 0: the benchmark chooses.

  /// Adds the options to a command, which must not outlive this.
  void add_to(CLI::App& command);
  /// Once the command has been parsed: what its words mean. Throws CLI::ValidationError for words that mean nothing,
  /// Error for a bad trace.
  void check();

 private:
  std::vector<std::string> delay_words_{"0", "500us"};
  std::vector<std::string> method_words_{"plain", "pipelined", "competitive"};
  std::vector<std::string> tree_words_{"binomial"};
  std::string arrival_ = "uniform";
  std::string chunk_;  // empty: by the cost model; as 0 of the next two
  std::int64_t depth_ = 0;
  std::int64_t fan_out_ = 0;
  std::int64_t iterations_ = 0;
  std::int64_t arrival_seed_ = 1;
};

const char* to_string(BroadcastMethod method) noexcept;
const char* to_string(BroadcastTree tree) noexcept;

}  // namespace coracle::internals::bench
