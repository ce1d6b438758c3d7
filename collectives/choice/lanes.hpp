// Lanes: a large transfer as several parts that go through the same algorithm beside each other, so that one is
// combined while another is on the wire.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals::between {

// A part below this takes longer to be asked for than to be sent.
inline constexpr std::size_t kLaneBytesMin = 64 * 1024;
inline constexpr std::uint32_t kLanesMax = 4;

/// Into how many parts to divide what each step moves.
inline std::uint32_t lanes_for(std::size_t step_bytes) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(step_bytes / kLaneBytesMin, 1, kLanesMax));
}

/// A part of some bytes.
struct Part {
  std::size_t begin;
  std::size_t end;
  template <class Byte>
  std::span<Byte> of(std::span<Byte> all) const {
    return all.subspan(begin, end - begin);
  }
};
/// Of `bytes`, what goes by one of the lanes: whole elements.
inline Part part_of_lane(std::size_t bytes, std::size_t element_bytes, std::uint32_t lane, std::uint32_t lanes) {
  const std::size_t elements = bytes / element_bytes;
  return {elements * lane / lanes * element_bytes, elements * (lane + 1) / lanes * element_bytes};
}

/// Runs `part(lane)` -> Task<> for each lane, all at once. Not a coroutine: `part` may end before they do.
template <class Part>
Task<> in_lanes(std::uint32_t lanes, const Part& part) {
  std::vector<Task<>> parts;
  parts.reserve(lanes);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) parts.push_back(part(lane));
  return all_of(std::move(parts));
}

}  // namespace coracle::internals::between
