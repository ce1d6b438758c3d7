// Nature: what a simulated job's ranks and transports have to do with: time, the network and faults, and each other's
// processors and losses.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "transports/sim/faults.hpp"
#include "transports/sim/ground.hpp"

namespace coracle::internals::sim {

class Nature : public Ground, protected Faults::Victims {
 public:
  Nature(const JobRegion& region, const NetworkModel& model, FaultPlan faults)
      : Ground(region, model), faults_(*this, *this, std::move(faults)) {}

  Faults& faults() noexcept { return faults_; }
  const Faults& faults() const noexcept { return faults_; }
  /// How long the first byte takes between two ranks, without chance.
  std::uint64_t latency_ns(std::uint32_t from, std::uint32_t to) const noexcept {
    return wires().link(from, to).latency_ns + faults_.delay_ns(from, to);
  }
  /// Whether anything at all can go wrong in this job but its program.
  bool may_lose_ranks() const noexcept { return faults_.any_planned() || region().shape().network.survive; }

  // --- of the ranks ---
  virtual bool has_lost(std::uint32_t observer, std::uint32_t peer) noexcept = 0;
  /// `observer` finds out that it has lost `peer`, which is told in turn.
  void lose(std::uint32_t observer, std::uint32_t peer, const std::string& reason, Loss::Kind kind) override = 0;
  /// Something has come for `rank`: its loop looks at it as soon as its processor is free.
  void wake(std::uint32_t rank) noexcept override = 0;
  /// Keeps the processor of `rank` busy for so long; returns when that is over.
  virtual std::uint64_t engage(std::uint32_t rank, std::uint64_t duration_ns) noexcept = 0;

 protected:
  ~Nature() = default;

 private:
  Faults faults_;
};

}  // namespace coracle::internals::sim
