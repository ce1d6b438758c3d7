// ExposedAccess: keeps a peer's exposed memory where it is while this rank copies from or to it by itself: who
// withdraws it waits for those who are at it. One look at the table would not do, since the memory may be freed while
// the copy runs.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "runtime/job/job.hpp"
#include "runtime/job/remote.hpp"

namespace coracle::internals {

/// Made before the look that finds the memory (AddressMap::check), and gone once the copy has been made; nothing may
/// be awaited meanwhile. One at a time for each mark, which has one thread.
class [[nodiscard]] ExposedAccess {
 public:
  /// By the processor of rank `self`.
  ExposedAccess(const JobRegion& region, std::uint32_t self, const RemoteAddress& place) noexcept
      : ExposedAccess(region.block(self).accessed, place.rank, place.may_be_withdrawn() && place.rank != self) {}
  /// By whoever has this mark, of anything of `owner`'s.
  ExposedAccess(std::atomic<std::uint64_t>& mark, std::uint32_t owner) noexcept : ExposedAccess(mark, owner, true) {}
  ~ExposedAccess() {
    // release: the copy comes before. Pairs with the loads of wait_for_others().
    if (mark_ != nullptr) mark_->store(number_ << kOwnerBits, std::memory_order_release);
  }
  ExposedAccess(const ExposedAccess&) = delete;
  ExposedAccess& operator=(const ExposedAccess&) = delete;

  /// What `owner` has withdrawn is left alone by its node's ranks and devices from then on. A rank that has died in the
  /// middle of an access keeps nobody.
  static void wait_for_others(const JobRegion& region, std::uint32_t owner) noexcept;

 private:
  /// A mark: above these bits the number of the access, so that who waits can tell it from the next; in them whose
  /// memory it is, plus one; 0: none is under way.
  static constexpr unsigned kOwnerBits = 32;

  ExposedAccess(std::atomic<std::uint64_t>& mark, std::uint32_t owner, bool is_needed) noexcept {
    if (!is_needed) return;
    mark_ = &mark;
    number_ = (mark.load(std::memory_order_relaxed) >> kOwnerBits) + 1;  // written by this thread only
    // seq_cst: the look at the table comes after. Pairs with the store of Rank::conceal and the look at marks after it.
    mark.store(number_ << kOwnerBits | (owner + 1U), std::memory_order_seq_cst);
  }

  static void wait_for(const RankBlock& of, const std::atomic<std::uint64_t>& mark, std::uint32_t owner,
                       bool or_anything) noexcept;

  std::atomic<std::uint64_t>* mark_ = nullptr;
  std::uint64_t number_ = 0;
};

inline void ExposedAccess::wait_for(const RankBlock& of, const std::atomic<std::uint64_t>& mark, std::uint32_t owner,
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

inline void ExposedAccess::wait_for_others(const JobRegion& region, std::uint32_t owner) noexcept {
  for (std::uint32_t rank = region.first_rank(); rank < region.first_rank() + region.ranks(); ++rank) {
    const RankBlock& block = region.block(rank);
    if (rank != owner) wait_for(block, block.accessed, owner, false);
    // The owner's own device may be reading what it brings to others.
    wait_for(block, block.accessed_by_device, owner, rank == owner);
  }
}

}  // namespace coracle::internals
