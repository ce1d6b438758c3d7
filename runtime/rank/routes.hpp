// Routes: a rank's transports, and which of them leads to which peer.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/std_parts.hpp"
#include "runtime/rank/transport.hpp"

namespace coracle::internals {

class EventLoop;
class JobRegion;

class Routes {
 public:
  Routes(const JobRegion& region, EventLoop& loop) noexcept;
  ~Routes();
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  /// To the ranks of this node.
  void set_local(std::unique_ptr<Transport> transport);
  /// To ranks of other nodes, which set_route() names. Transports end in the reverse order of their coming.
  void add(std::unique_ptr<Transport> transport);
  /// `node` is reached through `transport`.
  void set_route(std::uint32_t node, Transport& transport);
  /// Asks the transports to take leave; true once they all have.
  bool leave() noexcept;
  void end() noexcept;

  Transport& local() const noexcept { return *local_; }
  /// The transport to `rank`, which must exist.
  Transport& to(std::uint32_t rank) const noexcept { return leads_locally(rank) ? *local_ : to_other_node(rank); }
  /// Whether what leads to this node's ranks leads to `rank`, which need not exist.
  bool leads_locally(std::uint32_t rank) const noexcept { return by_node_.empty() || rank - first_rank_ < ranks_; }

 private:
  Transport& to_other_node(std::uint32_t rank) const noexcept;

  const JobRegion& region_;
  EventLoop& loop_;
  std::uint32_t first_rank_;  // of this node
  std::uint32_t ranks_;
  Transport* local_ = nullptr;
  std::vector<Transport*> by_node_;  // empty: one node, or all in one region
  std::vector<std::unique_ptr<Transport>> all_;
};

}  // namespace coracle::internals
