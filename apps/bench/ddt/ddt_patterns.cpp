// All patterns, with what follows from their layouts.
#include "apps/bench/ddt/ddt_patterns.hpp"

#include "runtime/core/assert.hpp"

namespace coracle::internals::bench {
namespace {

void finish(const DdtPattern& pattern, DdtSide& side) {
  CORACLE_ASSERT(side.layout.packed_bytes(side.count) == pattern.bytes, "{} {}: a side has {} bytes of {}",
                 pattern.name, pattern.size, side.layout.packed_bytes(side.count), pattern.bytes);
  const Footprint footprint = side.layout.footprint(side.count);
  CORACLE_ASSERT(footprint.low >= 0 && footprint.high <= static_cast<std::int64_t>(side.buffer_bytes),
                 "{} {}: from {} to {} of a buffer of {}", pattern.name, pattern.size, footprint.low, footprint.high,
                 side.buffer_bytes);
}

}  // namespace

std::vector<DdtPattern> ddt_patterns() {
  std::vector<DdtPattern> patterns;
  add_grid_patterns(patterns);
  add_list_patterns(patterns);
  for (DdtPattern& pattern : patterns) {
    pattern.bytes = pattern.send.layout.packed_bytes(pattern.send.count);
    finish(pattern, pattern.send);
    finish(pattern, pattern.receive);
  }
  return patterns;
}

}  // namespace coracle::internals::bench
