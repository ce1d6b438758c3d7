// Setting out and coming to an end.
#include "transports/sim/sim_end.hpp"

#include <algorithm>
#include <utility>

namespace coracle::internals::sim {

std::uint64_t SimEnd::reach_ns(std::uint32_t peer, std::uint64_t out_ns, bool keeps_order) noexcept {
  const std::uint64_t reach = out_ns + nature_.latency_ns(id(), peer) + nature_.jitter_ns();
  if (!keeps_order) return reach;
  std::uint64_t& last = ways_[peer].last_reach_ns;
  last = std::max(reach, last + 1);
  return last;
}

void SimEnd::take_off(Traveler& traveler, Operation& operation) noexcept {
  traveler.operation = &operation;
  traveler.place_ = in_flight_.size();
  in_flight_.push_back(&traveler);
}

Operation* SimEnd::land(Traveler& traveler) noexcept {
  in_flight_[traveler.place_] = in_flight_.back();
  in_flight_[traveler.place_]->place_ = traveler.place_;
  in_flight_.pop_back();
  return std::exchange(traveler.operation, nullptr);
}

void SimEnd::complete(Traveler& traveler, std::error_code outcome) noexcept {
  land(traveler)->finish(outcome);
  nature_.wake(id());
}

void SimEnd::has_arrived(std::uint32_t target, Parcel& parcel) noexcept {
  MessageWay& way = ways_[target];
  CORACLE_ASSERT(way.under_way.front() == &parcel, "a message from rank {} to {} has overtaken another", id(), target);
  way.under_way.erase(way.under_way.begin());
  --way.entering;
}

}  // namespace coracle::internals::sim
