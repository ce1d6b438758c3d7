// The file of a trace in Chrome's format.
#pragma once

#include <memory>
#include <string>

#include "runtime/insight/trace_output.hpp"

namespace coracle::internals {

/// An OpenTrace. A file of that name is replaced.
std::unique_ptr<TraceOutput> open_chrome_trace(const std::string& path);

}  // namespace coracle::internals
