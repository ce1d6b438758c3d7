// Schedule: virtual time, and what will happen in it. Things of the same time happen in an order that the seed decides.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/timer.hpp"
#include "transports/sim/random.hpp"

namespace coracle::internals::sim {

/// Something that will happen. Whoever puts it into a schedule keeps it alive until it has happened or was abandoned.
class ScheduledEvent {
 public:
  /// Its time has come. It may enter the schedule again.
  virtual void happen() noexcept = 0;
  /// The schedule ends before its time has come.
  virtual void abandon() noexcept = 0;
  /// Tells one from another in the trace; the same in every run (so no address).
  virtual std::uint64_t label() const noexcept = 0;

 protected:
  ~ScheduledEvent() = default;
};

class Schedule final : public Clock {
 public:
  explicit Schedule(std::uint64_t seed) noexcept : random_(Random::mix(seed)) {}
  ~Schedule() override;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  std::uint64_t now_ns() const noexcept override { return now_ns_; }
  Random& random() noexcept { return random_; }

  /// `time_ns` is not before now.
  void at(std::uint64_t time_ns, ScheduledEvent& what) noexcept;
  bool empty() const noexcept { return entries_.empty(); }
  /// When the next thing will happen; only when not empty.
  std::uint64_t next_ns() const noexcept { return entries_.front().time_ns; }
  /// Goes to the time of the next thing and lets it happen; only when not empty.
  void step() noexcept;

  /// Abandons all that has not happened.
  void clear() noexcept;

  /// What has happened so far.
  std::uint64_t count() const noexcept { return count_; }
  /// A digest of all that has happened, and when: two runs are the same when theirs are.
  std::uint64_t trace() const noexcept { return trace_; }

 private:
  struct Entry {
    std::uint64_t time_ns;
    std::uint64_t tie;
    ScheduledEvent* what;
  };
  static bool later(const Entry& left, const Entry& right) noexcept {
    return left.time_ns != right.time_ns ? left.time_ns > right.time_ns : left.tie > right.tie;
  }

  Random random_;
  std::vector<Entry> entries_;  // a heap, the earliest first
  std::uint64_t now_ns_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t trace_ = 0;
};

}  // namespace coracle::internals::sim
