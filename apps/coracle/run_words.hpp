// The options of `coracle run` as the user writes them, and what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

/// An empty word: the option was not given.
struct RunWords {
  std::string ranks;
  std::string placement;  ///< Empty: as `intranode` needs it.
  std::string intranode = "auto";
  std::string eager = "8K";
  std::string unexpected = "64M";
  std::string nodes;
  std::string hosts;
  std::string shell;
  std::string interface;
  std::string transport = "auto";
  std::string silence = "10s";
  std::string connections = std::to_string(NetworkOptions{}.connections_max);
  bool survive = false;
  std::string segment = "1G";
  std::string timeout;
  std::string seed;
  std::string network;
  std::string faults;
  std::string binding = "core";
  bool verbose = false;
  std::vector<std::string> command;  ///< Program and arguments.
};

/// Throws CLI::ValidationError for what can't be meant, and Error for a file that can't be read.
JobOptions job_options(const RunWords& words);

/// A host and how many ranks it gets.
struct HostWord {
  std::string name;
  std::optional<std::uint32_t> ranks;
};

/// "a,b:4,[fe80::1]:2" in order; nothing where a name is empty or a count is not from 1 to a million.
std::optional<std::vector<HostWord>> parse_hosts(std::string_view text);

}  // namespace coracle::internals
