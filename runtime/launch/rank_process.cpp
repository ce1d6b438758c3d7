// Both ways of waking a doorbell's owner, one after the other.
#include "runtime/launch/rank_process.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace coracle::internals {

void wake_regardless(Doorbell& doorbell) noexcept {
  // seq_cst: as the load in ring(). An owner that is about to sleep on the futex finds that it must not.
  doorbell.state.exchange(Doorbell::kAwake, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &doorbell.state, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  if (doorbell.event_fd < 0) return;
  const std::uint64_t one = 1;
  // EAGAIN: it is readable already.
  [[maybe_unused]] const ssize_t written = ::write(doorbell.event_fd, &one, sizeof one);
}

void wake_all_regardless(const JobRegion& region) noexcept {
  for (std::uint32_t rank = region.first_rank(); region.is_local(rank); ++rank)
    wake_regardless(region.block(rank).doorbell);
  wake_regardless(region.device_owner().doorbell);
}

void announce_loss(const JobRegion& region, const RankProcess& process) noexcept {
  for (std::uint32_t rank = process.first_rank; rank < process.first_rank + process.ranks; ++rank) {
    RankBlock& block = region.block(rank);
    block.exit_status = process.exit_status;
    // release: pairs with the acquire of whoever has seen `losses` grow.
    block.phase.store(RankPhase::lost, std::memory_order_release);
  }
  // seq_cst, and before the doorbells: see Doorbell.
  region.losses().fetch_add(process.ranks, std::memory_order_seq_cst);
  wake_all_regardless(region);
}

}  // namespace coracle::internals
