// From trouble to the loss of a peer.
#include "transports/sim/doubts.hpp"

#include "transports/sim/sim_end.hpp"

namespace coracle::internals::sim {

/// The time at which a doubt becomes certain, unless it has gone before.
class Verdict final : public Happening {
 public:
  Verdict(Doubts& doubts, std::uint32_t peer, std::uint64_t number) noexcept
      : doubts_(doubts), peer_(peer), number_(number) {}
  void happen() noexcept override {
    doubts_.decide(peer_, number_);
    delete this;
  }
  void abandon() noexcept override { delete this; }
  std::uint64_t label() const noexcept override { return Random::mix(peer_) + number_; }

 private:
  Doubts& doubts_;
  std::uint32_t peer_;
  std::uint64_t number_;
};

Faults::Trouble Doubts::trouble_that_matters(std::uint32_t peer) const noexcept {
  if (peer == of_.id() || of_.rank().lost(peer)) return Faults::Trouble::none;
  const Faults::Trouble trouble = of_.nature().faults().trouble(of_.id(), peer);
  return trouble != Faults::Trouble::none && of_.depends_on(peer) ? trouble : Faults::Trouble::none;
}

void Doubts::look() {
  Nature& nature = of_.nature();
  if (nature.faults().suspects().empty() && doubts_.empty()) return;
  // A rank that is stopped notices nothing, and gives its peers another chance when it goes on.
  const bool sees = !nature.faults().stopped(of_.id());
  std::erase_if(doubts_,
                [&](const auto& doubt) { return !sees || trouble_that_matters(doubt.first) != doubt.second.trouble; });
  if (!sees) return;
  for (const std::uint32_t peer : nature.faults().suspects()) {
    const Faults::Trouble trouble = trouble_that_matters(peer);
    if (trouble == Faults::Trouble::none || doubts_.contains(peer)) continue;
    doubts_[peer] = {trouble, ++last_number_};
    const std::uint64_t delay = trouble == Faults::Trouble::refused
                                    ? nature.latency_ns(of_.id(), peer) + nature.jitter_ns()
                                    : nature.region().shape().network.silence_limit_ns;
    nature.schedule().at(nature.schedule().now_ns() + delay, *new Verdict(*this, peer, last_number_));
  }
}

void Doubts::decide(std::uint32_t peer, std::uint64_t number) {
  const auto doubt = doubts_.find(peer);
  if (doubt == doubts_.end() || doubt->second.number != number) return;
  doubts_.erase(doubt);
  if (trouble_that_matters(peer) == Faults::Trouble::none) return;
  of_.nature().lose(of_.id(), peer, of_.nature().faults().describe(of_.id(), peer), Loss::Kind::fault);
}

}  // namespace coracle::internals::sim
