// Eviction: which cached page makes room for another. Pure bookkeeping over slot numbers: no memory, no I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace coracle::internals::storage {

/// Which of `capacity` slots to empty. Each slot holds at most one page. Not thread-safe.
class Eviction {
 public:
  virtual ~Eviction() = default;
  /// `page` has come into `slot`, which was empty.
  virtual void insert(std::uint32_t slot, std::uint64_t page) = 0;
  /// The page in `slot` was used. O(1), no allocation.
  virtual void hit(std::uint32_t slot) noexcept = 0;
  /// `slot` is empty now. `evicted`: to make room (its page may be remembered as a ghost), or else because it was
  /// invalidated.
  virtual void remove(std::uint32_t slot, bool evicted) noexcept = 0;
  /// The best slot to empty so that `incoming` has room, for which `may_evict(slot)` is true; nothing when there is
  /// none. Does not remove it. Amortised O(1) while few slots are refused.
  virtual std::optional<std::uint32_t> victim(std::uint64_t incoming,
                                              const std::function<bool(std::uint32_t)>& may_evict) = 0;
};

}  // namespace coracle::internals::storage
