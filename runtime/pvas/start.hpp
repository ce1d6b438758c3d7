// The birth of a task: clone with a shared address space, and the way from there to the program's first instruction.
#pragma once

#include "runtime/pvas/control.hpp"

namespace coracle::internals::pvas {

/// Clones the calling thread into a task that shares its memory and nothing else, and lets it carry out `control.start`
/// on its own stack. Returns its pid, or -errno. The caller has blocked all signals. Only the task's partition is
/// touched by the child: it uses neither libc nor TLS.
long start_task(Control& control) noexcept;

}  // namespace coracle::internals::pvas
