// Windows on paged segments, for programs that can't be changed: ordinary loads and stores. See docs/storage.md.
#pragma once

#include "storage/mapped/mapped_segment.hpp"

namespace coracle {

using internals::MappedCounts;
using internals::MappedOptions;
using internals::MappedSegment;

}  // namespace coracle
