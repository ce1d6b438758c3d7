// From the launcher's marks to the rank's losses.
#include "transports/node_losses.hpp"

#include <fmt/format.h>

namespace coracle {

void NodeLosses::find() noexcept {
  known_ = region_.losses().load(std::memory_order_acquire);  // as in look(); first, or one more could be missed
  for (std::uint32_t peer = region_.first_rank(); region_.is_local(peer); ++peer) {
    if (peer == rank_.id() || rank_.lost(peer)) continue;
    const RankBlock& block = region_.block(peer);
    if (block.phase.load(std::memory_order_acquire) != RankPhase::lost) continue;  // pairs with the launcher's release
    const int status = block.exit_status;
    rank_.peer_lost(peer, status > 128 ? fmt::format("its process was killed by signal {}", status - 128)
                                       : fmt::format("its process exited with status {}", status));
  }
}

}  // namespace coracle
