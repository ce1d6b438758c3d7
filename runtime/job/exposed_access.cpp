// Waiting for those who are at memory that has been withdrawn.
#include "runtime/job/exposed_access.hpp"

#include <sched.h>

namespace coracle::internals {

void ExposedAccess::wait_for(const RankBlock& of, const std::atomic<std::uint64_t>& mark, std::uint32_t owner,
                             bool or_anything) noexcept {
  // seq_cst: after the withdrawal, and so that an access that is not seen here sees that.
  const std::uint64_t access = mark.load(std::memory_order_seq_cst);
  const auto whose = static_cast<std::uint32_t>(access);
  if (whose != owner + 1U && (whose == 0 || !or_anything)) return;
  const auto is_alive = [&of] {
    const RankPhase phase = of.phase.load(std::memory_order_acquire);
    return phase != RankPhase::finished && phase != RankPhase::lost;
  };
  while (mark.load(std::memory_order_acquire) == access && is_alive()) ::sched_yield();
}

void ExposedAccess::wait_for_others(const JobRegion& region, std::uint32_t owner) noexcept {
  for (std::uint32_t rank = region.first_rank(); rank < region.first_rank() + region.ranks(); ++rank) {
    const RankBlock& block = region.block(rank);
    if (rank != owner) wait_for(block, block.accessed, owner, false);
    // The owner's own device may be reading what it brings to others.
    wait_for(block, block.accessed_by_device, owner, rank == owner);
  }
}

}  // namespace coracle::internals
