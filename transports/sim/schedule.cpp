// The queue of what will happen.
#include "transports/sim/schedule.hpp"

#include <algorithm>

#include "runtime/core/assert.hpp"

namespace coracle::internals::sim {

Schedule::~Schedule() {
  clear();
}

void Schedule::clear() noexcept {
  for (const Entry& entry : entries_) entry.what->abandon();
  entries_.clear();
}

void Schedule::at(std::uint64_t time_ns, ScheduledEvent& what) noexcept {
  CORACLE_ASSERT(time_ns >= now_ns_, "at {} ns something is to happen at {} ns", now_ns_, time_ns);
  entries_.push_back({time_ns, random_.next(), &what});
  std::push_heap(entries_.begin(), entries_.end(), later);
}

void Schedule::step() noexcept {
  std::pop_heap(entries_.begin(), entries_.end(), later);
  const Entry entry = entries_.back();
  entries_.pop_back();
  now_ns_ = entry.time_ns;
  ++count_;
  trace_ = Random::mix(trace_ ^ now_ns_) + Random::mix(entry.what->label());
  entry.what->happen();
}

}  // namespace coracle::internals::sim
