// Batches of operations that several benchmarks time: each awaited before the next, or many at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "apps/bench/measure/contest.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {

inline Task<> rest() {
  co_return;
}

inline Task<> puts(Rank& self, std::span<const std::byte> source, Remote<std::byte> target, std::uint64_t count) {
  for (; count != 0; --count) {
    co_await self.put(source, target);
    fence_compiler();
  }
}

inline Task<> gets(Rank& self, Remote<std::byte> source, std::span<std::byte> target, std::uint64_t count) {
  for (; count != 0; --count) {
    co_await self.get(source, target);
    fence_compiler();
  }
}

inline Task<> put_values(Rank& self, Remote<std::uint64_t> target, std::uint64_t count) {
  for (; count != 0; --count) {
    co_await self.put_value(count, target);
    fence_compiler();
  }
}

inline Task<> get_values(Rank& self, Remote<std::uint64_t> source, std::uint64_t count) {
  for (; count != 0; --count) {
    const std::uint64_t value = co_await self.get_value(source);
    static_cast<void>(opaque(value));
  }
}

/// As puts, but `window` are under way at a time.
inline Task<> puts_at_once(Rank& self, std::span<const std::byte> source, Remote<std::byte> target, std::uint64_t count,
                           std::uint64_t window) {
  while (count != 0) {
    const std::uint64_t now = std::min(count, window);
    for (std::uint64_t i = 0; i < now; ++i) self.put_nbi(source, target);
    co_await self.nbi_done();
    count -= now;
  }
}

inline Task<> gets_at_once(Rank& self, Remote<std::byte> source, std::span<std::byte> target, std::uint64_t count,
                           std::uint64_t window) {
  while (count != 0) {
    const std::uint64_t now = std::min(count, window);
    for (std::uint64_t i = 0; i < now; ++i) self.get_nbi(source, target);
    co_await self.nbi_done();
    count -= now;
  }
}

inline Task<> additions(Rank& self, Remote<std::uint64_t> place, std::uint64_t count) {
  for (; count != 0; --count) {
    const std::uint64_t old = co_await self.fetch_add(place, 1);
    static_cast<void>(opaque(old));
  }
}

/// Each succeeds when nobody else is at it: expects what it has found the last time.
inline Task<> swaps(Rank& self, Remote<std::uint64_t> place, std::uint64_t count) {
  for (std::uint64_t expected = 0; count != 0; --count) {
    const std::uint64_t old = co_await self.compare_swap(place, expected, expected + 1);
    expected = old == expected ? expected + 1 : old;
  }
}

}  // namespace coracle::internals::bench
