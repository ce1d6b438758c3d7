// scan: see between/scan.cpp.
#include "collectives/scan.hpp"

#include <algorithm>
#include <cstring>

#include "collectives/between/between.hpp"
#include "collectives/scratch.hpp"

namespace coracle {

Task<> scan_bytes(Team& team, std::span<std::byte> values, Reduction reduction, const std::byte* first) {
  const Group group(team, team.next_sequence());
  const Scratch before(values.size());
  co_await between::exclusive_scan(group, values, before.span(), reduction);
  const bool has_before = team.index() > 0;
  if (first == nullptr) {
    if (has_before) reduction.combine(before.data(), values.data(), values.data(), values.size());
    co_return;
  }
  for (std::size_t i = 0; i < values.size(); i += reduction.element_bytes)
    std::memcpy(values.data() + i, first, reduction.element_bytes);
  if (has_before) reduction.combine(values.data(), before.data(), values.data(), values.size());
}

}  // namespace coracle
