// What the machine must have for a shared address space, and which mode it allows.
#pragma once

#include <string>

namespace coracle::internals::pvas {

struct Arena;
struct SiteCache;

/// How far a machine can do what a shared address space needs.
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

/// Everything but the self-test; cheap.
Support check_machine();

/// The arena, less the part of it where this kernel places mappings of its own choice in this process.
Arena usable_arena();

struct ModeChoice {
  Mode mode;
  std::string reason;
};

/// Runs the self-test, unless told not to; what it learns stays in `sites`.
ModeChoice choose_mode(SiteCache& sites, bool force_rlimit);

}  // namespace coracle::internals::pvas
