// Eviction: which cached page makes room for another. Pure bookkeeping over frame numbers: no memory, no I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace coracle::internals::storage {

/// Which of `capacity` frames to empty. Each frame holds at most one page. Not thread-safe.
class Eviction {
 public:
  virtual ~Eviction() = default;
  /// `page` has come into `frame`, which was empty.
  virtual void insert(std::uint32_t frame, std::uint64_t page) = 0;
  /// The page in `frame` was used. O(1), no allocation.
  virtual void hit(std::uint32_t frame) noexcept = 0;
  /// `frame` is empty now. `evicted`: to make room (its page may be remembered as a ghost), or else because it was
  /// invalidated.
  virtual void remove(std::uint32_t frame, bool evicted) noexcept = 0;
  /// The best frame to empty so that `incoming` has room, for which `may_evict(frame)` is true; nothing when there is
  /// none. Does not remove it. Amortised O(1) while few frames are refused.
  virtual std::optional<std::uint32_t> victim(std::uint64_t incoming,
                                              const std::function<bool(std::uint32_t)>& may_evict) = 0;
};

}  // namespace coracle::internals::storage
