// Reading what may be a layout.
#include "tests/layout/encoding_input.hpp"

#include <cstdlib>
#include <vector>

#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"
#include "runtime/layout/cursor.hpp"
#include "runtime/layout/layout.hpp"

namespace coracle::internals::test {
namespace {

constexpr std::int64_t kMemory = 1 << 14;
constexpr std::uint64_t kPackedMax = 1 << 12;

/// Packs the beginning and the end, where the layout lies within some memory.
void use(const Layout& layout) {
  const Footprint footprint = layout.footprint(1);
  const bool fits = footprint.low >= -kMemory && footprint.high <= kMemory;
  if (!fits) return;
  const std::vector<std::byte> memory(2 * kMemory);
  std::vector<std::byte> room(kPackedMax);
  const ScatteredSource source{memory.data() + kMemory, layout};
  pack(source, 0, room);
  pack(source, layout.size() > kPackedMax ? layout.size() - kPackedMax : 0, room);
}

}  // namespace

bool read_layout(std::span<const std::byte> bytes) {
  try {
    const Layout layout = Layout::decode(bytes);
    const Layout again = Layout::decode(layout.encode());
    CORACLE_ASSERT(again.size() == layout.size() && again.extent() == layout.extent() &&
                       again.true_lower_bound() == layout.true_lower_bound(),
                   "a layout changed by being encoded");
    use(layout);
    return true;
  } catch (const Error& error) {
    CORACLE_ASSERT(error.code() == Errc::bad_input, "refused as {}", error.what());
    return false;
  }
}

}  // namespace coracle::internals::test
