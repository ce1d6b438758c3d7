// From the launcher's marks to the rank's losses.
#include "transports/direct/node_losses.hpp"

#include "runtime/rank/health.hpp"

namespace coracle::internals {

void NodeLosses::find() noexcept {
  known_ = region_.losses().load(std::memory_order_acquire);  // as in look(); first, or one more could be missed
  for (std::uint32_t peer = region_.first_rank(); region_.is_local(peer); ++peer) {
    if (peer == rank_.id() || rank_.lost(peer)) continue;
    const RankBlock& block = region_.block(peer);
    if (block.phase.load(std::memory_order_acquire) != RankPhase::lost) continue;  // pairs with the launcher's release
    rank_.core().peer_lost({peer, text_of_end(block.exit_status)});
  }
}

}  // namespace coracle::internals
