// Starting an ordinary process: the `process` placement's counterpart of pvas::AddressSpace::spawn.
#pragma once

#include <sys/types.h>

#include <string>

#include "runtime/job/process.hpp"

namespace coracle::internals {

/// Starts options.program and returns once it runs (exec has succeeded). The caller reaps it. Throws Error when it
/// can't be started: then no child is left.
pid_t spawn_process(const SpawnOptions& options);

/// The path of `program`: itself if it contains a '/', else the first executable of that name in PATH. Throws Error,
/// which says what is wrong, when there is none, or when it is a folder or may not be executed.
std::string find_program(const std::string& program);

}  // namespace coracle::internals
