// Clock: the loop's source of time: the machine's, or the virtual one of `sim`.
#pragma once

#include <cstdint>

namespace coracle::internals {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since some fixed point; never goes back.
  virtual std::uint64_t now_ns() const noexcept = 0;
};

/// CLOCK_MONOTONIC.
Clock& real_clock() noexcept;

}  // namespace coracle::internals
