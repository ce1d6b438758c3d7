// From trouble to the loss of a peer.
#include "transports/sim/failure_detector.hpp"

#include "transports/sim/sim_end.hpp"

namespace coracle::internals::sim {

/// The time at which a suspicion becomes certain, unless it has gone before.
class Verdict final : public ScheduledEvent {
 public:
  Verdict(FailureDetector& detector, std::uint32_t peer, std::uint64_t number) noexcept
      : detector_(detector), peer_(peer), number_(number) {}
  void happen() noexcept override {
    detector_.decide(peer_, number_);
    delete this;
  }
  void abandon() noexcept override { delete this; }
  std::uint64_t label() const noexcept override { return Random::mix(peer_) + number_; }

 private:
  FailureDetector& detector_;
  std::uint32_t peer_;
  std::uint64_t number_;
};

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
    nature.schedule().at(nature.schedule().now_ns() + delay, *new Verdict(*this, peer, last_number_));
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
