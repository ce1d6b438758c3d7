// NodeLosses: how transports inside a node learn of ranks that have failed: the launcher marks their blocks, raises a
// counter and rings all doorbells of the node. Only in jobs that survive losses (`--survive`).
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/job/job.hpp"
#include "runtime/rank/health.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {

class NodeLosses {
 public:
  explicit NodeLosses(Rank& rank) noexcept
      : rank_(rank), region_(rank.core().region()), survive_(region_.shape().network.survive) {}

  /// Tells the rank of each peer that is newly lost (RankCore::peer_lost). Cheap when there is none.
  void look() noexcept {
    // acquire: pairs with the launcher's addition after it has marked the rank.
    if (survive_ && region_.losses().load(std::memory_order_acquire) != known_) [[unlikely]]
      find();
  }

 private:
  [[gnu::cold]] void find() noexcept;

  Rank& rank_;
  const JobRegion& region_;
  const bool survive_;
  std::uint32_t known_ = 0;  // losses of the node
};

inline void NodeLosses::find() noexcept {
  known_ = region_.losses().load(std::memory_order_acquire);  // as in look(); first, or one more could be missed
  for (std::uint32_t peer = region_.first_rank(); region_.is_local(peer); ++peer) {
    if (peer == rank_.id() || rank_.lost(peer)) continue;
    const RankBlock& block = region_.block(peer);
    if (block.phase.load(std::memory_order_acquire) != RankPhase::lost) continue;  // pairs with the launcher's release
    rank_.core().peer_lost({peer, text_of_end(block.exit_status)});
  }
}

}  // namespace coracle::internals
