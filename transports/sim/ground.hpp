// Ground: what a simulated job stands on: its memory, virtual time, chance, and the network.
#pragma once

#include <cstdint>

#include "runtime/job/job.hpp"
#include "transports/sim/schedule.hpp"
#include "transports/sim/wires.hpp"

namespace coracle::internals::sim {

class Ground {
 public:
  /// `region` must outlive it.
  Ground(const JobRegion& region, const NetworkModel& model)
      : region_(region), wires_(model, region.shape()), schedule_(region.shape().seed) {}
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  const JobRegion& region() const noexcept { return region_; }
  Schedule& schedule() noexcept { return schedule_; }
  Random& random() noexcept { return schedule_.random(); }
  Wires& wires() noexcept { return wires_; }
  const Wires& wires() const noexcept { return wires_; }
  const NetworkModel& model() const noexcept { return wires_.model(); }
  /// A random time up to the model's jitter.
  std::uint64_t jitter_ns() noexcept { return random().up_to(model().jitter_ns); }

 protected:
  ~Ground() = default;

 private:
  const JobRegion& region_;
  Wires wires_;
  Schedule schedule_;
};

}  // namespace coracle::internals::sim
