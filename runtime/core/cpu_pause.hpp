// cpu_pause: what a loop does between two looks at memory that another core will write.
#pragma once

namespace coracle::internals {

/// Leaves the core's other hardware thread the execution units, and the bus to the writer, for some tens of cycles.
inline void cpu_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace coracle::internals
