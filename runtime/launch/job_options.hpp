// What the user of the launcher asks for, and the cores that there are for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/job.hpp"

namespace coracle::internals {

/// Where ranks run.
enum class Binding {
  none,   ///< Wherever the kernel puts them.
  core,   ///< One core each when there are enough cores; else as `none`.
  share,  ///< One core each; ranks that outnumber the cores share them by turns.
};

struct JobOptions {
  JobShape shape;  ///< `inbox_bytes` as the transports want it; `idle` and `key` are the launcher's to fill in.
  std::vector<std::uint32_t> ranks_per_node;  ///< Empty: as evenly as can be.
  std::vector<std::string> hosts;             ///< One per node; empty: all nodes are on this machine.
  std::string shell =
      "ssh -o BatchMode=yes -o ServerAliveInterval=5";  ///< Runs a command on a host: `shell HOST COMMAND...`.
  std::string interface;  ///< Name or network (192.168.1.0/24) of the address that other nodes use; "": the best.
  std::string command;    ///< Path of the `coracle` command, which every node runs; "": this program is it.
  std::string program;
  std::vector<std::string> arguments;  ///< Without the program's name.
  Binding binding = Binding::core;
  std::optional<std::chrono::nanoseconds> timeout;  ///< For the whole job.
  bool verbose = false;
  std::vector<std::string> notes;  ///< Told if verbose: what the layers above have chosen.
};

/// Which cores a job may use, in the order in which ranks are put on them: one entry per core that this process may run
/// on, neighbours in the machine's topology side by side; each holds the numbers of the core's usable hardware threads.
/// Throws Error when the topology can't be read.
std::vector<std::vector<int>> usable_cores();

}  // namespace coracle::internals
