// What the user of the launcher asks for, and the cores that there are for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/insight/trace_output.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

/// Where ranks run.
enum class Binding {
  none,   ///< Wherever the kernel puts them.
  core,   ///< One core each when there are enough cores; else as `none`.
  share,  ///< One core each; ranks that outnumber the cores share them by turns.
};

/// One of a job's programs, which consecutive ranks run.
struct ProgramPart {
  std::string program;
  std::vector<std::string> arguments;  ///< Without the program's name.
  std::uint32_t ranks = 0;
  std::vector<std::string> environment;  ///< "NAME=value": these prevail over the launcher's.
  std::string directory;                 ///< In which it is looked for and runs; "": the launcher's.
};

/// When ranks that stand still are explained.
struct StallOptions {
  std::chrono::nanoseconds time;  ///< Once they have waited for so long.
  std::string log;                ///< File to which that is appended, too; "": none.
};

/// Which ranks read the launcher's standard input. Others read nothing.
struct InputReaders {
  enum class Who : std::uint32_t {
    one,  ///< `rank`, as it comes.
    all,  ///< Each gets all of it, once it has ended.
    none,
  };
  Who who = Who::one;
  std::uint32_t rank = 0;
};

struct JobOptions {
  JobShape shape;  ///< `inbox_bytes` as the transports want it; `idle` and `key` are the launcher's to fill in.
  std::vector<std::uint32_t> ranks_per_node;  ///< Empty: as evenly as can be.
  std::vector<std::string> hosts;             ///< One per node; empty: all nodes are on this machine.
  std::string shell =
      "ssh -o BatchMode=yes -o ServerAliveInterval=5";  ///< Runs a command on a host: `shell HOST COMMAND...`.
  std::string interface;  ///< Name or network (192.168.1.0/24) of the address that other nodes use; "": the best.
  std::string command;    ///< Path of the `coracle` command, which every node runs; "": this program is it.
  std::vector<ProgramPart> programs;  ///< In the order of their ranks, which are all that the job has.
  bool label = false;                 ///< Each line that a rank writes gets "[rank] " before it.
  std::string output;  ///< Files in which ranks write: a name with %r (rank) and %n (node); "": the launcher's streams.
  InputReaders input;
  Binding binding = Binding::core;
  std::optional<std::chrono::nanoseconds> timeout;  ///< For the whole job.
  std::optional<StallOptions> stall;                ///< Ranks that stand still are explained (StallWatch).
  std::string summary;                              ///< Files for the job's summary, without .json and .svg; "": none.
  std::string trace;                                ///< File for the job's trace; "": none.
  OpenTrace open_trace = nullptr;                   ///< Makes it; set where `trace` is.
  bool verbose = false;
  std::vector<std::string> notes;  ///< Told if verbose: what the layers above have chosen.
};

/// The place in `programs` of the one that `rank` runs.
std::uint32_t program_of(const JobOptions& options, std::uint32_t rank);

/// The node on which `rank` runs.
std::uint32_t node_of(const JobOptions& options, std::uint32_t rank);

/// What the user calls them: "./a", "./a and ./b", "./a, ./b and ./c".
std::string program_names(const JobOptions& options);

/// Throws Error (bad_input) where the programs' ranks are not those of the job, or one has none.
void check_programs(const JobOptions& options);

/// Which cores a job may use, in the order in which ranks are put on them: one entry per core that this process may run
/// on, neighbours in the machine's topology side by side; each holds the numbers of the core's usable hardware threads.
/// Throws Error when the topology can't be read.
std::vector<std::vector<int>> usable_cores();

}  // namespace coracle::internals
