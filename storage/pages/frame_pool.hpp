// FramePool: which pages are in the frames of a cache, which frames are free, and which page goes next.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"
#include "storage/eviction/eviction.hpp"
#include "storage/eviction/eviction_kind.hpp"
#include "storage/eviction/eviction_lists.hpp"
#include "storage/pages/cache_tasks.hpp"
#include "storage/pages/frames.hpp"
#include "storage/protocol/protocol.hpp"

namespace coracle::internals {
class Rank;
}

namespace coracle::internals::storage {

/// What is known of the pages in a cache's frames as copies: which were taken in for other caches, which are to be
/// handed on, and which may be the last copy.
///
/// Pure bookkeeping over frames. A *guest* is a page that was taken in for others and has not been used here. A page is
/// *held* while its hint is on its way. Where `chances` is 0 there are neither, and nothing is noted.
class GuestFrames {
 public:
  struct Copy {
    std::uint64_t since_ns = 0;  ///< It came, or was seen to be used; held: its hint was sent.
    std::uint8_t chances = 0;    ///< How often it may still be handed on.
    bool guest = false;
    bool elsewhere = false;  ///< Another cache had it when it came, and has not said that it drops it.
  };
  enum List : std::uint32_t { kGuests, kHeld, kNone };

  GuestFrames(Rank& rank, std::uint32_t frames, std::uint32_t chances);

  bool on() const noexcept { return chances_ > 0; }
  const Copy& at(std::uint32_t frame) const noexcept { return copies_[frame]; }
  bool guest(std::uint32_t frame) const noexcept { return on() && copies_[frame].guest; }
  bool held(std::uint32_t frame) const noexcept { return on() && in_[frame] == kHeld; }
  std::size_t held_count() const noexcept { return held_; }
  /// The oldest of a list, and the next newer one; NumberLists::kEnd: none.
  std::uint32_t oldest(List list) const noexcept { return on() ? lists_.back(list) : NumberLists::kEnd; }
  std::uint32_t newer(std::uint32_t frame) const noexcept { return lists_.before(frame); }

  void placed(std::uint32_t frame) noexcept;
  void gone(std::uint32_t frame) noexcept;
  /// The page there was used here, or somebody here waits for it.
  void used(std::uint32_t frame) noexcept;
  /// It was taken in; `chances`: that are left to it.
  void make_guest(std::uint32_t frame, std::uint8_t chances) noexcept;
  /// A hint of it is sent now; or it is held no more.
  void hold(std::uint32_t frame) noexcept;
  void let_go(std::uint32_t frame) noexcept { enlist(frame, copies_[frame].guest ? kGuests : kNone); }
  void came_from_peer(std::uint32_t frame) noexcept { set_elsewhere(frame, !guest(frame)); }
  /// It has been of use: other guests go before it.
  void sent_to_peer(std::uint32_t frame) noexcept {
    if (on() && in_[frame] == kGuests) enlist(frame, kGuests);
  }
  void set_elsewhere(std::uint32_t frame, bool elsewhere) noexcept {
    if (on()) copies_[frame].elsewhere = elsewhere;
  }
  std::uint64_t now_ns() const noexcept;

 private:
  void enlist(std::uint32_t frame, List list) noexcept;

  Rank& rank_;
  std::uint32_t chances_;
  std::vector<Copy> copies_;  // by frame, as the next
  std::vector<List> in_;
  NumberLists lists_;  // the newest in front
  std::size_t held_ = 0;
};

/// One of them; in its frame. Once `done` is set it has the page pinned in `frame`, or an error, or else asks again.
struct PageWaiting {
  bool writing = false;
  const std::byte* whole = nullptr;  ///< What all of the page is to be.
  std::uint32_t frame = Frames::kNone;
  std::optional<Error> error;
  Event done;
  PageWaiting* next = nullptr;
};

/// The coroutines that wait for one page. First come, first served.
class PageWaiters {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  void add(PageWaiting& waiting) noexcept {
    PageWaiting** last = &first_;
    while (*last != nullptr) last = &(*last)->next;
    *last = &waiting;
  }
  /// Those for whom `is_served(waiting)` gives true wait no more.
  template <class IsServed>
  void serve(IsServed is_served) {
    for (PageWaiting** link = &first_; *link != nullptr;) {
      PageWaiting& waiting = **link;
      if (!is_served(waiting)) {
        link = &waiting.next;
        continue;
      }
      *link = waiting.next;
      waiting.done.set();
    }
  }
  void wake_all() noexcept {
    serve([](PageWaiting&) { return true; });
  }
  void fail(const Error& error, bool also_whole = true) {
    serve([&](PageWaiting& waiting) {
      if (waiting.whole != nullptr && !also_whole) return false;
      waiting.error.emplace(error);
      return true;
    });
  }
  /// What the first of those who write all of the page has brought, which is his no more; null: nobody does.
  const std::byte* take_whole() noexcept {
    PageWaiting* waiting = first_;
    while (waiting != nullptr && waiting->whole == nullptr) waiting = waiting->next;
    return waiting != nullptr ? std::exchange(waiting->whole, nullptr) : nullptr;
  }

 private:
  PageWaiting* first_ = nullptr;
};

/// While it lives, whoever unpins a page of this cache tells its controller.
class UnpinsWanted {
 public:
  explicit UnpinsWanted(const Frames& frames) noexcept : count_(frames.shared().wants_unpins) {
    count_.fetch_add(1, std::memory_order_seq_cst);
  }
  ~UnpinsWanted() { count_.fetch_sub(1, std::memory_order_seq_cst); }
  UnpinsWanted(const UnpinsWanted&) = delete;
  UnpinsWanted& operator=(const UnpinsWanted&) = delete;

 private:
  std::atomic<std::uint32_t>& count_;
};

/// Used by its rank's thread. It evicts clean pages, which needs no message.
class FramePool {
 public:
  struct FrameState {
    CachePage page;
    std::uint64_t number = 0;  ///< Of the page in it; only while placed.
    PageWaiters waiters;
    std::uint32_t inserted_at = 0;
    std::uint32_t own_pins = 0;  ///< Of readers, the controller's own.
    bool placed = false;
  };

  FramePool(const Frames& frames, EvictionKind kind, GuestFrames guests, CacheTasks& tasks);

  const Frames& frames() const noexcept { return frames_; }
  GuestFrames& guests() noexcept { return guests_; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(frame_states_.size()); }
  FrameState& at(std::uint32_t frame) noexcept { return frame_states_[frame]; }
  const FrameState& at(std::uint32_t frame) const noexcept { return frame_states_[frame]; }
  void advise(EvictionKind kind);

  // --- pages come and go ---
  std::size_t free_frames() const noexcept { return free_.size(); }
  /// A free frame, or that of the clean page that is needed least, which is forgotten; kNone: none can be had at once.
  std::uint32_t take(std::uint64_t incoming);
  void give_back(std::uint32_t frame);
  /// `page`, which is in no frame, into a frame that was taken.
  void place(std::uint64_t page, std::uint32_t frame);
  /// The page is gone; the frame is free once nobody has it pinned any more, or, unless `reusable`, never. Whoever
  /// waited for the page asks again.
  void retire(std::uint32_t frame, bool evicted, bool reusable = true);
  bool all_unusable() const noexcept { return unusable_ == frame_states_.size(); }

  // --- which go ---
  /// A clean page that nobody waits for; and that nobody uses at this moment.
  bool is_clean(std::uint32_t frame) const noexcept;
  bool may_go(std::uint32_t frame) const noexcept { return is_clean(frame) && !frames_.head(frame).pinned(); }
  /// Whether the page there was used since this was last asked, so that another is to go before it.
  bool take_use(std::uint32_t frame) noexcept;
  /// The page that may go and is needed least: a guest where there is one, and none that is held.
  std::optional<std::uint32_t> clean_victim(std::uint64_t incoming);
  /// The same of those that are no guests.
  std::optional<std::uint32_t> own_victim(std::uint64_t incoming);
  std::optional<std::uint32_t> oldest_guest() noexcept;
  /// Forgets a clean page. Its frame is free, at once or when the page has been sent to whom it was to be sent. False:
  /// somebody uses it.
  bool evict(std::uint32_t frame);

  // --- pins ---
  void pin_own(std::uint32_t frame) noexcept;
  void unpin_own(std::uint32_t frame) noexcept;
  /// Which pins are waited for.
  enum class Others { writers, all, and_own };
  bool pinned(std::uint32_t frame, Others others) const noexcept;
  Task<> wait_unpinned(std::uint32_t frame, Others others);

 private:
  std::optional<std::uint32_t> unused_victim(std::uint64_t incoming, const std::function<bool(std::uint32_t)>& may_go);
  std::uint32_t oldest_held() const noexcept;
  Task<> retire_when_unpinned(std::uint32_t frame);

  const Frames frames_;
  CacheTasks& tasks_;
  GuestFrames guests_;
  std::vector<FrameState> frame_states_;
  std::vector<std::uint32_t> free_;
  EvictionKind eviction_kind_;
  std::unique_ptr<Eviction> eviction_;
  std::size_t unusable_ = 0;  // frames that data may still come into from who should not send any more
};

}  // namespace coracle::internals::storage
