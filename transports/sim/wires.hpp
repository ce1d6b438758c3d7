// Wires: when bytes leave and when they arrive, by the network model. Ranks of one node each have a port of their own
// to the others of it; between nodes all ranks of a node share its one port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/job/job.hpp"
#include "transports/sim/network.hpp"

namespace coracle::internals::sim {

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

}  // namespace coracle::internals::sim
