// The course of a fault plan.
#include "transports/sim/faults.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace coracle::internals::sim {

/// Tells a rank that a peer has closed their connection.
class Faults::ResetNotice final : public Transit {
 public:
  ResetNotice(Faults& faults, std::uint32_t from, std::uint32_t to, const char* reason) noexcept
      : faults_(faults), from_(from), to_(to), reason_(reason) {}

  void happen() noexcept override {
    if (faults_.hold(*this, from_, to_)) return;
    faults_.victims_.lose(to_, from_, reason_, Loss::Kind::fault);
    delete this;
  }
  std::uint64_t label() const noexcept override { return Random::mix(std::uint64_t{from_} << 32 | to_) + 7; }

 private:
  Faults& faults_;
  std::uint32_t from_;
  std::uint32_t to_;
  const char* reason_;
};

Faults::Faults(Ground& ground, Victims& victims, FaultPlan plan)
    : ground_(ground), victims_(victims), plan_(std::move(plan)), states_(ground.region().shape().size) {}

Faults::~Faults() {
  for (const Held& held : held_) delete held.transit;
}

void Faults::begin() {
  turns_.reserve(2 * plan_.size());
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    turns_.emplace_back(*this, i, false);
    ground_.schedule().at(plan_[i].at_ns, turns_.back());
  }
}

Faults::Ranks Faults::ranks_of(const Fault::Party& party) const noexcept {
  if (!party.is_node) return {party.number, party.number + 1};
  const JobShape& shape = ground_.region().shape();
  return {JobRegion::first_rank_of(party.number, shape), JobRegion::first_rank_of(party.number + 1, shape)};
}

bool Faults::between(const Fault& fault, std::uint32_t left, std::uint32_t right) const noexcept {
  const Ranks first = ranks_of(fault.first);
  const Ranks second = ranks_of(fault.second);
  return (first.has(left) && second.has(right)) || (first.has(right) && second.has(left));
}

bool Faults::cut(std::uint32_t left, std::uint32_t right) const noexcept {
  return std::any_of(cuts_.begin(), cuts_.end(), [&](std::size_t fault) { return between(plan_[fault], left, right); });
}

std::uint64_t Faults::delay_ns(std::uint32_t left, std::uint32_t right) const noexcept {
  std::uint64_t delay = 0;
  for (const std::size_t fault : delays_)
    if (between(plan_[fault], left, right)) delay += plan_[fault].delay_ns;
  return delay;
}

Faults::Symptom Faults::symptom(std::uint32_t observer, std::uint32_t peer) const noexcept {
  const State& state = states_[peer];
  if ((state.dead && state.silently) || stopped(peer) || cut(observer, peer)) return Symptom::silent;
  return state.dead ? Symptom::refused : Symptom::none;
}

std::string Faults::describe(std::uint32_t observer, std::uint32_t peer) const {
  if (symptom(observer, peer) == Symptom::refused) return states_[peer].how;
  return fmt::format("silent for {}", time_text(ground_.region().shape().network.silence_limit_ns));
}

void Faults::change(std::size_t fault, bool is_end) {
  if (is_end)
    finish(plan_[fault], fault);
  else
    start(plan_[fault], fault);
  find_suspects();
  release();
  victims_.look_around();
}

void Faults::start(const Fault& fault, std::size_t number) {
  const Ranks ranks = ranks_of(fault.first);
  const bool lasts = fault.for_ns == Fault::kForEver;
  switch (fault.kind) {
    case Fault::Kind::kill:
      for (std::uint32_t rank = ranks.first; rank < ranks.end; ++rank)
        kill(rank, fault.first.is_node, "it was killed by the fault plan");
      return;
    case Fault::Kind::reset:
      return reset(fault);
    case Fault::Kind::stop:
      for (std::uint32_t rank = ranks.first; rank < ranks.end; ++rank) stop(rank, lasts);
      break;
    case Fault::Kind::cut:
      cuts_.push_back(number);
      break;
    case Fault::Kind::delay:
      delays_.push_back(number);
      break;
  }
  if (lasts) return;
  turns_.emplace_back(*this, number, true);
  ground_.schedule().at(ground_.schedule().now_ns() + fault.for_ns, turns_.back());
}

void Faults::finish(const Fault& fault, std::size_t number) {
  if (fault.kind == Fault::Kind::stop) {
    const Ranks ranks = ranks_of(fault.first);
    for (std::uint32_t rank = ranks.first; rank < ranks.end; ++rank) resume(rank);
  }
  std::erase(cuts_, number);
  std::erase(delays_, number);
}

void Faults::kill(std::uint32_t rank, bool silently, const char* how) {
  if (dead(rank) || victims_.finished(rank)) return;
  State& state = states_[rank];
  state.dead = true;
  state.silently = silently;
  state.how = how;
  state.since_ns = ground_.schedule().now_ns();
  victims_.rank_died(rank);
}

void Faults::stop(std::uint32_t rank, bool for_ever) {
  if (victims_.finished(rank)) return;
  ++states_[rank].stops;
  states_[rank].stopped_for_ever |= for_ever;
}

void Faults::resume(std::uint32_t rank) {
  if (stopped(rank) && --states_[rank].stops == 0 && !dead(rank)) victims_.wake(rank);
}

void Faults::reset(const Fault& fault) {
  const Ranks first = ranks_of(fault.first);
  const Ranks second = ranks_of(fault.second);
  for (std::uint32_t left = first.first; left < first.end; ++left) {
    for (std::uint32_t right = second.first; right < second.end; ++right) {
      send_reset(left, right, "their connection was reset");
      send_reset(right, left, "their connection was reset");
    }
  }
}

void Faults::rank_failed(std::uint32_t rank) {
  State& state = states_[rank];
  state.dead = true;
  state.how = "its program failed";
  state.since_ns = ground_.schedule().now_ns();
  find_suspects();
  victims_.rank_died(rank);
  victims_.look_around();
}

void Faults::find_suspects() {
  suspects_.clear();
  const auto cut_off = [this](std::uint32_t rank) {
    return std::any_of(cuts_.begin(), cuts_.end(), [&](std::size_t fault) {
      return ranks_of(plan_[fault].first).has(rank) || ranks_of(plan_[fault].second).has(rank);
    });
  };
  for (std::uint32_t rank = 0; rank < states_.size(); ++rank)
    if (dead(rank) || stopped(rank) || cut_off(rank)) suspects_.push_back(rank);
  any_ = !suspects_.empty();
}

/// Lets go on what is not blocked any more.
void Faults::release() {
  std::vector<Held> held = std::move(held_);
  held_.clear();
  for (const Held& one : held) {
    if (one.for_ever || blocked(one.from, one.to))
      held_.push_back(one);
    else
      ground_.schedule().at(ground_.schedule().now_ns() + ground_.jitter_ns(), *one.transit);
  }
  victims_.pump_messages();
}

bool Faults::hold(Transit& transit, std::uint32_t from, std::uint32_t to) {
  if (!blocked(from, to)) return false;
  held_.push_back({&transit, from, to, false});
  return true;
}

void Faults::keep(Transit& transit) {
  held_.push_back({&transit, 0, 0, true});
}

bool Faults::drop_held(Transit& transit) noexcept {
  const auto found =
      std::find_if(held_.begin(), held_.end(), [&transit](const Held& held) { return held.transit == &transit; });
  if (found == held_.end()) return false;
  held_.erase(found);
  delete &transit;
  return true;
}

void Faults::send_reset(std::uint32_t from, std::uint32_t to, const char* reason) {
  if (victims_.finished(to) || dead(to)) return;
  Schedule& schedule = ground_.schedule();
  schedule.at(schedule.now_ns() + ground_.jitter_ns(), *new ResetNotice(*this, from, to, reason));  // owns itself
}

}  // namespace coracle::internals::sim
