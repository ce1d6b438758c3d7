// DirtyPages: which pages of a cache are dirty, which are being written home, and how that ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/task.hpp"
#include "storage/pages/cache_tasks.hpp"
#include "storage/protocol/protocol.hpp"

namespace coracle::internals::storage {

/// What the next flush has to see to besides the pages that are dirty here.
struct Unflushed {
  std::set<std::uint64_t> given_away;  ///< Dirty pages that went to other caches.
  std::vector<bool> homes;             ///< Those that pages were put to.
  bool flushing = false;
  std::optional<Error> lost;  ///< Pages that were dirty when their home was lost, until somebody was told.
};

/// Bookkeeping over frames; it begins no put itself. Used by its rank's thread.
class DirtyPages {
 public:
  DirtyPages(std::uint32_t frames, CacheId homes, std::size_t dirty_max, CacheTasks& tasks);

  Unflushed& unflushed() noexcept { return unflushed_; }

  // --- how many ---
  /// Whether the page in `frame`, whose home that is, is dirty now.
  void note(std::uint32_t frame, bool dirty, CacheId home);
  bool dirty(std::uint32_t frame) const noexcept { return states_[frame].dirty; }
  std::size_t count() const noexcept { return count_; }
  std::size_t wanted() const noexcept { return max_ / 2; }
  bool many() const noexcept { return count_ > max_ - max_ / 4; }
  bool full() const noexcept { return count_ >= max_; }

  // --- puts ---
  void put_begins(std::uint32_t frame) noexcept;
  void put_succeeded(std::uint32_t frame) noexcept;
  /// `error`: kept for all whom failed_after() concerns.
  void put_failed(std::uint32_t frame, const Error& error);
  /// It is over, in whatever way; nothing where none was under way.
  void put_ended(std::uint32_t frame) noexcept;
  std::size_t under_way() const noexcept { return under_way_; }
  bool may_begin() const noexcept { return under_way_ < kPutsMax; }
  /// How many of the frame's puts have succeeded.
  std::uint32_t successes(std::uint32_t frame) const noexcept { return states_[frame].successes; }
  std::uint64_t begun() const noexcept { return begun_; }
  /// Whether a put has failed that began after so many others.
  bool failed_after(std::uint64_t begun) const noexcept { return latest_failed_ > begun; }
  const Error& failure() const noexcept { return *failure_; }  // NOLINT(bugprone-unchecked-optional-access): after that
  /// Of those that are under way now. Others may begin some all the time: these are not waited for.
  Task<> ended();

  /// Who is told when a put fails.
  enum class Told { nobody, somebody };
  /// Calls `begin_put(frame)` for the longest dirty pages until not more than `wanted` would be left; it gives false
  /// where a page can't be put now. Where nobody is told of failures, a home whose device has refused the last page is
  /// left alone until a put that somebody waits for has gone well there: every refusal would lead to the next attempt,
  /// for ever and at the full speed of a processor.
  template <class BeginPut>
  void put_oldest(std::size_t wanted, Told told, BeginPut begin_put);

 private:
  static constexpr std::size_t kPutsMax = 64;
  static constexpr std::size_t kLooksBehind = 4 * kPutsMax;  // at pages, each time that nobody waits for it

  struct State {
    std::uint64_t put = 0;  // number of the latest that began
    CacheId home = kNoCache;
    std::uint32_t successes = 0;
    bool dirty = false;
    bool under_way = false;
    bool in_order = false;  // in order_
  };
  void enqueue(std::uint32_t frame);

  CacheTasks& tasks_;
  std::vector<State> states_;        // by frame
  std::deque<std::uint32_t> order_;  // frames, as they became dirty; some are clean again
  Unflushed unflushed_;
  std::size_t count_ = 0;
  std::size_t max_;
  std::size_t under_way_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t latest_failed_ = 0;  // of these
  std::optional<Error> failure_;     // the latest
  std::vector<bool> refusing_;       // homes whose latest put failed
};

template <class BeginPut>
void DirtyPages::put_oldest(std::size_t wanted, Told told, BeginPut begin_put) {
  std::size_t looks = told == Told::nobody ? std::min(order_.size(), kLooksBehind) : order_.size();
  for (; looks > 0; --looks) {
    if (!may_begin() || count_ <= wanted + under_way_) return;
    const std::uint32_t frame = order_.front();
    State& state = states_[frame];
    order_.pop_front();
    state.in_order = false;
    if (!state.dirty || state.under_way) continue;
    const bool in_vain = told == Told::nobody && refusing_[state.home];
    if (in_vain || !begin_put(frame)) enqueue(frame);
  }
}

}  // namespace coracle::internals::storage
