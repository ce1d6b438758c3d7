// Schedule: virtual time, and what will happen in it. Things of the same time happen in an order that the seed decides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/core/assert.hpp"
#include "runtime/core/timer.hpp"

namespace coracle::internals::sim {

/// The one source of chance in a simulated job, the same on every machine and with every standard library. SplitMix64
/// (Steele, Lea, Flood, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept { return mix(state_ += 0x9e3779b97f4a7c15ULL); }
  /// 0 .. bound - 1; `bound` is not 0. The bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }
  /// 0 .. most.
  std::uint64_t up_to(std::uint64_t most) noexcept { return most == 0 ? 0 : below(most + 1); }

  static constexpr std::uint64_t mix(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
  }

 private:
  std::uint64_t state_;
};

/// Something that will happen. Whoever puts it into a schedule keeps it alive until it has happened or was abandoned.
class ScheduledEvent {
 public:
  /// Its time has come. It may enter the schedule again.
  virtual void happen() noexcept = 0;
  /// The schedule ends before its time has come.
  virtual void abandon() noexcept = 0;
  /// Tells one from another in the digest; the same in every run (so no address).
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
  /// `function()` happens once, unless the schedule ends before. `label`: see ScheduledEvent.
  template <class Function>
  void once(std::uint64_t time_ns, std::uint64_t label, Function function);
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
  std::uint64_t digest() const noexcept { return digest_; }

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
  std::uint64_t digest_ = 0;
};

template <class Function>
void Schedule::once(std::uint64_t time_ns, std::uint64_t label, Function function) {
  class Once final : public ScheduledEvent {
   public:
    Once(std::uint64_t label, Function function) : label_(label), function_(std::move(function)) {}
    void happen() noexcept override {
      function_();
      delete this;
    }
    void abandon() noexcept override { delete this; }
    std::uint64_t label() const noexcept override { return label_; }

   private:
    std::uint64_t label_;
    Function function_;
  };
  at(time_ns, *new Once(label, std::move(function)));  // owns itself
}

inline Schedule::~Schedule() {
  clear();
}

inline void Schedule::clear() noexcept {
  for (const Entry& entry : entries_) entry.what->abandon();
  entries_.clear();
}

inline void Schedule::at(std::uint64_t time_ns, ScheduledEvent& what) noexcept {
  CORACLE_ASSERT(time_ns >= now_ns_, "at {} ns something is to happen at {} ns", now_ns_, time_ns);
  entries_.push_back({time_ns, random_.next(), &what});
  std::push_heap(entries_.begin(), entries_.end(), later);
}

inline void Schedule::step() noexcept {
  std::pop_heap(entries_.begin(), entries_.end(), later);
  const Entry entry = entries_.back();
  entries_.pop_back();
  now_ns_ = entry.time_ns;
  ++count_;
  digest_ = Random::mix(digest_ ^ now_ns_) + Random::mix(entry.what->label());
  entry.what->happen();
}

}  // namespace coracle::internals::sim
