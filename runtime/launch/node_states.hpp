// NodeStates: the states of the ranks of all nodes, as their launchers tell the one at the head of the job.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/condition.hpp"
#include "runtime/launch/control_frames.hpp"
#include "runtime/launch/node_peer.hpp"
#include "runtime/launch/stall_watch.hpp"

namespace coracle::internals {

class NodeStates final : public StateSource {
 public:
  /// `changed`: is notified when something has come of a peer. All outlive it. `size`: ranks of the job.
  NodeStates(std::vector<NodePeer>& peers, Condition& changed, std::uint32_t size) noexcept
      : peers_(peers), changed_(changed), size_(size) {}

  Task<std::vector<insight::RankState>> look() override;
  Task<std::vector<insight::RankState>> locate(std::vector<std::uint32_t> wanted) override;
  void forget_times() override;

 private:
  Task<> ask(ControlFrameType type, std::vector<std::byte> payload);
  std::vector<insight::RankState> gathered() const;

  std::vector<NodePeer>& peers_;
  Condition& changed_;
  std::uint32_t size_;
};

}  // namespace coracle::internals
