// Eviction: which cached page makes room for another. Pure bookkeeping over frame numbers: no memory, no I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "storage/eviction/eviction_lists.hpp"

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

/// Adaptive replacement (Megiddo and Modha, FAST '03) with a filter for correlated references: pages used once (T1) and
/// more often (T2), each list's evicted ones as ghosts (B1, B2): a page that comes back while it is a ghost says which
/// of the two is too small. |T1| + |B1| is never above the capacity, all four together never above twice that. A page's
/// hits count only from capacity/20 insertions after its own: before that they are taken for one use.
class ArcEviction final : public Eviction {
 public:
  explicit ArcEviction(std::uint32_t capacity);
  void insert(std::uint32_t frame, std::uint64_t page) override;
  void hit(std::uint32_t frame) noexcept override;
  void remove(std::uint32_t frame, bool evicted) noexcept override;
  std::optional<std::uint32_t> victim(std::uint64_t incoming,
                                      const std::function<bool(std::uint32_t)>& may_evict) override;

  /// For tests.
  struct Sizes {
    std::uint32_t once, often, ghosts_once, ghosts_often;
    double once_wanted;
  };
  Sizes sizes() const noexcept;

 private:
  enum List : std::uint32_t { kOnce, kOften, kNowhere };
  struct Entry {
    std::uint64_t page = 0;
    std::uint64_t inserted = 0;  ///< How many insertions there had been.
    List list = kNowhere;
  };
  void place(std::uint32_t frame, List list) noexcept;
  void take_out(std::uint32_t frame) noexcept;
  double wanted_after(std::uint32_t ghost_list) const noexcept;
  void forget_oldest() noexcept;
  std::uint32_t oldest_in(List list, const std::function<bool(std::uint32_t)>& may_evict) const;

  std::uint32_t capacity_;
  NumberLists lists_;
  std::vector<Entry> entries_;
  Ghosts ghosts_;
  std::uint32_t sizes_[2] = {};
  std::uint64_t insertions_ = 0;
  double once_wanted_ = 0;  ///< p: how large T1 should be.
};

}  // namespace coracle::internals::storage
