#include "runtime/core/byte_counts.hpp"

#include "runtime/core/assert.hpp"

namespace coracle::internals {

void refuse_span(std::size_t count, std::size_t element_bytes) noexcept {
  CORACLE_ASSERT(count <= kObjectBytesMax / element_bytes,
                 "a span of {} elements of {} bytes was given, more than any memory has; see where its length comes "
                 "from (a difference below 0?)",
                 count, element_bytes);
  __builtin_unreachable();
}

}  // namespace coracle::internals
