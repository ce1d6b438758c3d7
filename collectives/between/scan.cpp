// Scan among a group: recursive doubling over distances (Hillis and Steele, "Data parallel algorithms", CACM 1986).
#include <algorithm>

#include "collectives/between/between.hpp"
#include "collectives/choice/lanes.hpp"
#include "collectives/data/scratch.hpp"

namespace coracle::internals::between {
namespace {

/// Before the step of distance d, `range` is the combination of the d positions up to this one (fewer at the
/// beginning), and `before` that of the same without this position itself.
Task<> scan_part(Group group, std::span<const std::byte> values, std::span<std::byte> before,
                 const Reduction& reduction) {
  const std::uint32_t size = group.size();
  const std::uint32_t me = group.position();
  const Scratch range(values.size());
  const Scratch received(values.size());
  std::copy(values.begin(), values.end(), range.data());
  std::uint32_t step = 0;
  for (std::uint32_t distance = 1; distance < size; distance *= 2, ++step) {
    const bool sends = me + distance < size;
    const bool receives = me >= distance;
    if (sends && receives)
      co_await exchange(group, step, me + distance, range.span(), me - distance, received.span());
    else if (sends)
      co_await group.send(me + distance, step, range.span());
    else if (receives)
      co_await group.receive(me - distance, step, received.span());
    if (!receives) continue;
    if (distance == 1)
      std::copy(received.span().begin(), received.span().end(), before.begin());
    else
      reduction.combine(received.data(), before.data(), before.data(), before.size());
    reduction.combine(received.data(), range.data(), range.data(), values.size());
  }
}

}  // namespace

Task<> exclusive_scan(Group group, std::span<const std::byte> values, std::span<std::byte> before,
                      const Reduction& reduction) {
  const std::uint32_t lanes = lanes_for(values.size());
  const std::size_t elements = values.size() / reduction.element_bytes;
  co_await in_lanes(lanes, [&](std::uint32_t lane) {
    const std::size_t begin = elements * lane / lanes * reduction.element_bytes;
    const std::size_t end = elements * (lane + 1) / lanes * reduction.element_bytes;
    return scan_part(group.phase(lane), values.subspan(begin, end - begin), before.subspan(begin, end - begin),
                     reduction);
  });
}

}  // namespace coracle::internals::between
