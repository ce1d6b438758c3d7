// What a new task or process gets: plain data, the same for the shared address space and for ordinary processes, so
// that a launcher describes a rank once and chooses the placement afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coracle::internals {

/// One program to start. Everything is copied when it is spawned; nothing here need live on.
struct SpawnOptions {
  std::string program;                   ///< Path, or a name without '/' that is looked for in PATH.
  std::vector<std::string> arguments;    ///< argv, argv[0] included; empty means {program}.
  std::vector<std::string> environment;  ///< "NAME=value"; this is the whole environment, nothing is inherited.
  int stdin_fd = -1;                     ///< Becomes descriptor 0; -1 inherits.
  int stdout_fd = -1;                    ///< Becomes descriptor 1; -1 inherits.
  int stderr_fd = -1;                    ///< Becomes descriptor 2; -1 inherits.
  std::vector<int> keep_fds;             ///< Stay open although they are close-on-exec; others follow exec's rule.
  std::vector<int> cpus;                 ///< Affinity; empty inherits.
  bool new_process_group = false;        ///< The child leads a process group of its own.
  /// With a group: where the child adds it before its program runs, so that nobody can have been started in it unknown
  /// to the guardian (group_table.hpp). The caller takes it out when it has reaped the child.
  std::uint64_t* group_table = nullptr;
  int parent_death_signal = 0;  ///< Sent to the child when the spawning thread dies, also if it died just before.
  std::string name;             ///< What ps shows (comm), at most 15 characters; empty: the program's file name.
  bool core_dumps = false;      ///< Otherwise no core is written (one of a shared space holds every task).
  bool huge_pages = true;       ///< Tasks of a shared space: for data of 2 MiB and more, where the machine has some.
};

}  // namespace coracle::internals
