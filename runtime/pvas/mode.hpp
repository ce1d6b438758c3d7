// How far a machine can do what a shared address space needs.
#pragma once

#include <string>

namespace coracle::internals::pvas {

enum class Mode {
  patched,  ///< Every mapping of a task lies in its own partition; all of it comes back when the task ends.
  rlimit,   ///< Syscall sites can't be patched here: tasks run, but each ended one leaves some mappings behind.
};

/// What this machine can do.
struct Support {
  bool available = false;
  Mode mode = Mode::rlimit;
  std::string reason;  ///< Why not, or why this mode.
  std::string remedy;  ///< What the user can do; empty when nothing is to be done.
};

}  // namespace coracle::internals::pvas
