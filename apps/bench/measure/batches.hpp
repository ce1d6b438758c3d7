// Batches of what benchmarks time: an operation that is awaited before the next one begins, operations of which many
// are under way, and plain code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "apps/bench/measure/contest.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {

inline Task<> rest() {
  co_return;
}

/// Awaits what `operation()` gives, `count` times.
template <class Operation>
Task<> repeat(Operation operation, std::uint64_t count) {
  for (; count != 0; --count) {
    if constexpr (std::is_void_v<decltype(operation().await_resume())>) {
      co_await operation();
      fence_compiler();
    } else {
      const auto value = co_await operation();
      static_cast<void>(opaque(value));
    }
  }
}

/// The same as a batch. Ranks that are not `active` rest.
template <class Operation>
Contest::Batch repeated(Operation operation, bool active = true) {
  return [operation, active](std::uint64_t count) { return active ? repeat(operation, count) : rest(); };
}

/// `start()` begins an operation that nbi_done() awaits; `window` of them are under way at a time.
template <class Start>
Contest::Batch repeated_at_once(Rank& self, Start start, std::uint64_t window, bool active = true) {
  const auto body = [](Rank& rank, Start begin, std::uint64_t at_once, std::uint64_t count) -> Task<> {
    while (count != 0) {
      const std::uint64_t now = std::min(count, at_once);
      for (std::uint64_t i = 0; i < now; ++i) begin();
      co_await rank.nbi_done();
      count -= now;
    }
  };
  return [&self, start, window, active, body](std::uint64_t count) {
    return active ? body(self, start, window, count) : rest();
  };
}

/// A batch of plain code.
template <class Work>
Contest::PlainBatch plainly(Work work, bool active = true) {
  return [work = std::move(work), active](std::uint64_t count) mutable {
    for (; active && count != 0; --count) {
      work();
      fence_compiler();
    }
  };
}

}  // namespace coracle::internals::bench
