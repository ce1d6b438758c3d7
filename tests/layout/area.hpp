// Area: repetitions of a described layout in memory of their own, for tests that copy them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/layout/layout.hpp"
#include "tests/layout/random_layout.hpp"

namespace coracle::internals::test {

/// With guards around.
struct Area {
  static constexpr std::int64_t kGuard = 64;

  Described what;
  std::uint64_t count;
  Typemap all;
  std::int64_t low;
  std::vector<std::byte> memory;

  Area(Described described, std::uint64_t repetitions)
      : what(std::move(described)),
        count(repetitions),
        all(what.map.repeated(static_cast<std::int64_t>(count))),
        low(all.true_lower_bound()),
        memory(static_cast<std::size_t>(all.true_upper_bound() - low + 2 * kGuard), std::byte{0xee}) {}
  Area(Dice& dice, Described described, bool random_bytes)
      : Area(std::move(described), static_cast<std::uint64_t>(dice.between(dice.one_in(10) ? 0 : 1, 3))) {
    if (random_bytes) dice.fill(memory);
  }
  std::byte* origin() { return memory.data() + kGuard - low; }
  std::byte& at(std::uint64_t position) { return origin()[all.bytes[position]]; }
  std::uint64_t bytes() const { return all.bytes.size(); }
  ScatteredSource source() { return {origin(), what.layout, count}; }
  ScatteredTarget target() { return {origin(), what.layout, count}; }
};

}  // namespace coracle::internals::test
