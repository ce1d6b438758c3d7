// Files and descriptors: reads, writes, connections.
#pragma once

#include "runtime/core/io.hpp"

namespace coracle {

using internals::Io;
using internals::kNoOffset;

}  // namespace coracle
