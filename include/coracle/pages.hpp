// Segments whose memory lies on SSDs.
#pragma once

#include "storage/options/paged_options.hpp"
#include "storage/segment/paged_array.hpp"
#include "storage/segment/paged_segment.hpp"

namespace coracle {

using internals::HomeSpread;
using internals::PagedArray;
using internals::PagedCounts;
using internals::PagedOptions;
using internals::PagedSegment;
using internals::PinnedPage;
using internals::SsdModel;

}  // namespace coracle
