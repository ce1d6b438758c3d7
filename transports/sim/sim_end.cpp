// Setting out and coming to an end.
#include "transports/sim/sim_end.hpp"

#include <algorithm>
#include <utility>

namespace coracle::internals::sim {

std::uint64_t SimEnd::reach_ns(std::uint32_t peer, std::uint64_t out_ns, bool keeps_order) noexcept {
  const std::uint64_t reach = out_ns + nature_.latency_ns(id(), peer) + nature_.jitter_ns();
  if (!keeps_order) return reach;
  std::uint64_t& last = timings_[peer].last_reach_ns;
  last = std::max(reach, last + 1);
  return last;
}

void SimEnd::take_off(Transit& transit, Operation& operation) noexcept {
  transit.operation = &operation;
  transit.place_ = in_flight_.size();
  in_flight_.push_back(&transit);
}

Operation* SimEnd::land(Transit& transit) noexcept {
  in_flight_[transit.place_] = in_flight_.back();
  in_flight_[transit.place_]->place_ = transit.place_;
  in_flight_.pop_back();
  return std::exchange(transit.operation, nullptr);
}

void SimEnd::complete(Transit& transit, std::error_code outcome) noexcept {
  land(transit)->finish(outcome);
  nature_.wake(id());
}

void SimEnd::has_arrived(std::uint32_t target, SimMessage& message) noexcept {
  MessageTiming& timing = timings_[target];
  CORACLE_ASSERT(timing.under_way.front() == &message, "a message from rank {} to {} has overtaken another", id(),
                 target);
  timing.under_way.erase(timing.under_way.begin());
  --timing.entering;
}

}  // namespace coracle::internals::sim
