// Ground: what a simulated job stands on: its memory, virtual time, chance, and the network; and Transit: what goes
// over it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/job/job.hpp"
#include "runtime/rank/operation.hpp"
#include "transports/sim/network.hpp"
#include "transports/sim/schedule.hpp"

namespace coracle::internals::sim {

/// When bytes leave and when they arrive, by the network model. LogGP at both ends of a wire. Ranks of one node each
/// have a port of their own to the others of it; between nodes all ranks of a node share its one port.
class Wires {
 public:
  Wires(const NetworkModel& model, const JobShape& shape);

  const NetworkModel& model() const noexcept { return model_; }
  const Link& link(std::uint32_t from, std::uint32_t to) const noexcept {
    return same_node(from, to) ? model_.inside : model_.between;
  }

  struct Span {
    std::uint64_t first_ns;
    std::uint64_t last_ns;
  };
  /// When the first and the last of `bytes` leave `from`, which has them ready at `ready_ns`.
  Span send(std::uint32_t from, std::uint32_t to, std::size_t bytes, std::uint64_t ready_ns) noexcept;
  /// When the last of `bytes` is in, the first of which reaches `to` at `now_ns`. Calls must be in order of time.
  std::uint64_t receive(std::uint32_t from, std::uint32_t to, std::size_t bytes, std::uint64_t now_ns) noexcept;

 private:
  struct Port {
    std::uint64_t out_free_ns = 0;
    std::uint64_t in_free_ns = 0;
  };
  bool same_node(std::uint32_t left, std::uint32_t right) const noexcept {
    return JobRegion::node_of(left, shape_) == JobRegion::node_of(right, shape_);
  }
  /// The port of `rank` that leads to `peer`.
  Port& port(std::uint32_t rank, std::uint32_t peer) noexcept {
    return same_node(rank, peer) ? ranks_[rank] : nodes_[JobRegion::node_of(rank, shape_)];
  }

  NetworkModel model_;
  JobShape shape_;
  std::vector<Port> ranks_;
  std::vector<Port> nodes_;
};

inline Wires::Wires(const NetworkModel& model, const JobShape& shape)
    : model_(model), shape_(shape), ranks_(shape.size), nodes_(shape.nodes) {}

inline Wires::Span Wires::send(std::uint32_t from, std::uint32_t to, std::size_t bytes,
                               std::uint64_t ready_ns) noexcept {
  const Link& way = link(from, to);
  Port& from_port = port(from, to);
  const std::uint64_t first = std::max(ready_ns, from_port.out_free_ns);
  const std::uint64_t duration = way.time_for(bytes);
  from_port.out_free_ns = first + std::max(way.gap_ns, duration);
  return {first, first + duration};
}

inline std::uint64_t Wires::receive(std::uint32_t from, std::uint32_t to, std::size_t bytes,
                                    std::uint64_t now_ns) noexcept {
  const Link& way = link(from, to);
  Port& to_port = port(to, from);
  const std::uint64_t first = std::max(now_ns, to_port.in_free_ns);
  const std::uint64_t duration = way.time_for(bytes);
  // One more than the duration at least: what comes in later is then in later, so that order is kept.
  to_port.in_free_ns = first + std::max(way.gap_ns, duration + 1);
  return first + duration;
}

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

/// Whatever is on its way between two ranks, with the operation that it carries out, if any. It owns itself, but for
/// messages in inboxes.
class Transit : public ScheduledEvent {
 public:
  Transit() = default;
  Transit(const Transit&) = delete;
  Transit& operator=(const Transit&) = delete;
  virtual ~Transit() = default;

  void abandon() noexcept override { delete this; }

  /// Null when it carries out none, or that has finished.
  Operation* operation = nullptr;
  /// Its operation has ended before it, since its sender is dead or has lost the target. What still needs the sender
  /// gets nowhere.
  bool orphaned = false;

 private:
  friend class SimEnd;
  std::size_t place_ = 0;  // among its sender's operations in flight
};

}  // namespace coracle::internals::sim
