// BroadcastBetween: the part of a broadcast between nodes, of the rank that leads its node: it tells the senders where
// it receives, publishes each piece to its node as it comes, and sends it on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/broadcast/broadcast_schedule.hpp"
#include "collectives/broadcast/broadcast_within.hpp"
#include "collectives/messages/readiness.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// What all members know alike about one broadcast.
struct Broadcast {
  Team& team;
  std::uint64_t sequence;
  std::uint32_t root;
  std::span<std::byte> data;
  BroadcastChoice choice;  ///< Nothing is automatic any more.
  StagedData* staged;      ///< Of this member: `data` stands for a GPU's memory; or null.

  /// Nodes are counted from the root's in schedules.
  std::uint32_t own_node() const noexcept { return from_root(team.nodes().own()); }
  std::uint32_t from_root(std::uint32_t node) const noexcept {
    const std::uint32_t count = team.nodes().count();
    return (node + count - team.nodes().node_of(root)) % count;
  }
  std::uint32_t of_team(std::uint32_t node) const noexcept {
    return (node + team.nodes().node_of(root)) % team.nodes().count();
  }
  bool on_root_node() const noexcept { return own_node() == 0; }
};

class BroadcastBetween {
 public:
  /// All must outlive this.
  BroadcastBetween(const Broadcast& broadcast, const BroadcastSchedule& schedule, BroadcastWithin& within) noexcept;

  /// Returns when all pieces are here, in the node, and sent on.
  Task<> lead();

 private:
  using Send = BroadcastSchedule::Send;

  void tell_of_chunk(std::uint32_t piece, std::size_t bytes, std::uint32_t peer);
  Task<> load_and_publish();
  Task<> receive();
  Task<> tell_senders(Ready ready);
  Task<> receive_pieces();
  Task<> send_and_publish();
  Task<> send_to(std::span<const Send> sends);
  Task<> send_pieces(std::span<const Send> sends, Ready ready, std::vector<Handle>& on_the_way);
  Task<> wait_until_here(std::uint32_t pieces);
  void have(std::uint32_t pieces) noexcept;
  /// Who may lead a node, as far as is known here.
  std::vector<std::uint32_t> leaders(std::uint32_t node) const;
  std::vector<std::uint32_t> all_senders() const;
  RemoteAddress reachable(std::optional<Exposed<std::byte>>& exposed);

  const Broadcast& broadcast_;
  const BroadcastSchedule& schedule_;
  BroadcastWithin& within_;
  Rank& rank_;
  Readiness& readiness_;
  Receiving receiving_;
  std::uint32_t here_ = 0;  // pieces, without a gap
  Event more_;
};

}  // namespace coracle::internals
