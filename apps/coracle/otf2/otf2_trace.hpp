// Traces as archives of OTF2 (Open Trace Format 2), which Vampir and otf2-print read. Where its library was
// not there when Coracle was built, otf2_missing.cpp stands for it.
#pragma once

#include <memory>
#include <string>

#include "runtime/insight/trace_output.hpp"

namespace coracle::internals {

/// An OpenTrace. `path` is a folder, which is made; an archive that `coracle run --trace` has left there is replaced,
/// and anything else refused. Throws Error (unsupported) in a build without the library.
std::unique_ptr<TraceOutput> open_otf2_trace(const std::string& path);

}  // namespace coracle::internals
