// A trace in Chrome's format: JSON that Perfetto and chrome://tracing open.
#pragma once

#include <cstdio>

#include "runtime/insight/trace_reader.hpp"

namespace coracle::internals {

/// A rank is a process there, a lane a thread, and a message an arrow from its send to its receive. False: `file` could
/// not be written (errno).
bool write_chrome_trace(const JobTrace& trace, std::FILE* file);

}  // namespace coracle::internals
