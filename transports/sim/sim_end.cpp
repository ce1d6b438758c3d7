// Setting out and coming to an end; and from trouble to the loss of a peer.
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

Faults::Symptom FailureDetector::symptom_that_matters(std::uint32_t peer) const noexcept {
  if (peer == of_.id() || of_.rank().lost(peer)) return Faults::Symptom::none;
  const Faults::Symptom symptom = of_.nature().faults().symptom(of_.id(), peer);
  return symptom != Faults::Symptom::none && of_.depends_on(peer) ? symptom : Faults::Symptom::none;
}

void FailureDetector::look() {
  Nature& nature = of_.nature();
  if (nature.faults().suspects().empty() && suspicions_.empty()) return;
  // A rank that is stopped notices nothing, and gives its peers another chance when it goes on.
  const bool sees = !nature.faults().stopped(of_.id());
  std::erase_if(suspicions_, [&](const auto& suspicion) {
    return !sees || symptom_that_matters(suspicion.first) != suspicion.second.symptom;
  });
  if (!sees) return;
  for (const std::uint32_t peer : nature.faults().suspects()) {
    const Faults::Symptom symptom = symptom_that_matters(peer);
    if (symptom == Faults::Symptom::none || suspicions_.contains(peer)) continue;
    suspicions_[peer] = {symptom, ++last_number_};
    const std::uint64_t delay = symptom == Faults::Symptom::refused
                                    ? nature.latency_ns(of_.id(), peer) + nature.jitter_ns()
                                    : nature.region().shape().network.silence_limit_ns;
    // Then the suspicion becomes certain, unless it has gone before.
    nature.schedule().once(nature.schedule().now_ns() + delay, Random::mix(peer) + last_number_,
                           [this, peer, number = last_number_] { decide(peer, number); });
  }
}

void FailureDetector::decide(std::uint32_t peer, std::uint64_t number) {
  const auto suspicion = suspicions_.find(peer);
  if (suspicion == suspicions_.end() || suspicion->second.number != number) return;
  suspicions_.erase(suspicion);
  if (symptom_that_matters(peer) == Faults::Symptom::none) return;
  of_.nature().lose(of_.id(), peer, of_.nature().faults().describe(of_.id(), peer), Loss::Kind::fault);
}

}  // namespace coracle::internals::sim
