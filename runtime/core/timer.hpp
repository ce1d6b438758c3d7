// A loop's time: where it comes from, and its timers: a binary heap that knows where each timer stands, so that
// cancelling one is cheap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coracle::internals {

/// The loop's source of time: the machine's, or the virtual one of `sim`.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since some fixed point; never goes back.
  virtual std::uint64_t now_ns() const noexcept = 0;
};

/// CLOCK_MONOTONIC.
Clock& real_clock() noexcept;

/// Something that fires at a time. Owner: whoever derives from it; it must be disarmed before it dies.
class Timer {
 public:
  virtual void fire() noexcept = 0;
  bool armed() const noexcept { return index_ != kIdle; }

 protected:
  ~Timer() = default;

 private:
  friend class TimerQueue;
  static constexpr std::size_t kIdle = static_cast<std::size_t>(-1);
  std::uint64_t deadline_ns_ = 0;
  std::uint64_t order_ = 0;
  std::size_t index_ = kIdle;
};

/// Fires in order of deadline, equal deadlines in order of arming. Loop's thread only.
class TimerQueue {
 public:
  bool empty() const noexcept { return heap_.empty(); }
  /// The earliest deadline; only when not empty.
  std::uint64_t earliest_ns() const noexcept { return heap_.front()->deadline_ns_; }
  void arm(Timer& timer, std::uint64_t deadline_ns);
  void disarm(Timer& timer) noexcept;
  /// Fires all that are due; true when any was.
  bool fire_due(std::uint64_t now_ns) noexcept;

 private:
  static bool before(const Timer* left, const Timer* right) noexcept;
  void place(Timer* timer, std::size_t index) noexcept;
  void sift_up(std::size_t index) noexcept;
  void sift_down(std::size_t index) noexcept;

  std::vector<Timer*> heap_;
  std::uint64_t armed_count_ = 0;
};

}  // namespace coracle::internals
