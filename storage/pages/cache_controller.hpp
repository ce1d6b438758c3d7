// CacheController: fills and empties the frames of one cache, and speaks for it in the coherence protocol. It belongs
// to one rank; those that share its memory find cached pages by themselves (PageCache) and come here for the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/job/segment.hpp"
#include "runtime/job/slab.hpp"
#include "storage/eviction/eviction_kind.hpp"
#include "storage/options/paged_options.hpp"
#include "storage/pages/cache_tasks.hpp"
#include "storage/pages/dirty_pages.hpp"
#include "storage/pages/frame_pool.hpp"
#include "storage/pages/last_copies.hpp"
#include "storage/pages/page_coherence.hpp"
#include "storage/pages/page_home.hpp"
#include "storage/pages/page_sender.hpp"
#include "storage/pages/read_ahead.hpp"
#include "storage/pages/segment_caches.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals {
class Message;
class Rank;
}  // namespace coracle::internals

namespace coracle::internals::storage {

class CacheController;

/// The paged segments whose caches this rank keeps, by their numbers, for messages that name them. One per rank
/// (Rank::local).
class SegmentTable {
 public:
  explicit SegmentTable(Rank&) noexcept {}
  /// Null when this rank keeps no cache of that segment, or not any more.
  CacheController* find(std::uint32_t segment) const noexcept {
    for (const auto& [number, controller] : controllers_)
      if (number == segment) return controller;
    return nullptr;
  }
  /// Throws Error where find() gives null.
  CacheController& at(std::uint32_t segment) const {
    CacheController* controller = find(segment);
    if (controller == nullptr) throw closed_error();
    return *controller;
  }
  void add(std::uint32_t segment, CacheController& controller) { controllers_.emplace_back(segment, &controller); }
  /// From now on peers are told that it is closed here; `own`: the number of this rank's cache in it.
  void close(std::uint32_t segment, std::uint32_t own) {
    if (own_in_closed(segment)) return;
    std::erase_if(controllers_, [=](const auto& each) { return each.first == segment; });
    closed_.emplace_back(segment, own);
  }
  /// The frames of a cache that was not closed by all: others may still write to them, so they stay until the rank
  /// ends.
  void abandon(Slab<std::byte> frames) { abandoned_.push_back(std::move(frames)); }
  /// The number of this rank's cache in a segment that is closed here.
  std::optional<std::uint32_t> own_in_closed(std::uint32_t segment) const noexcept {
    for (const auto& [number, own] : closed_)
      if (number == segment) return own;
    return std::nullopt;
  }
  /// A number that this rank has not used; the members of a team take the greatest of theirs.
  std::uint32_t unused() const noexcept { return next_; }
  void used(std::uint32_t segment) noexcept { next_ = segment + 1; }

 private:
  std::vector<std::pair<std::uint32_t, CacheController*>> controllers_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> closed_;
  std::vector<Slab<std::byte>> abandoned_;
  std::uint32_t next_ = 1;
};

/// Made of parts of which each uses those before it only. Used by its rank's thread. Tasks that are under way keep it
/// alive.
class CacheController final : public std::enable_shared_from_this<CacheController>, private ReadObserver {
 public:
  struct Memory {
    Slab<std::byte> slab;
    std::byte* frames = nullptr;  ///< In it, aligned.
  };
  /// `store`: of this cache's home, if it has one.
  CacheController(SegmentCaches caches, const PagedOptions& options, Memory memory, std::unique_ptr<PageStore> store);
  ~CacheController();
  /// Once it is owned by a shared pointer.
  void start();
  CacheController(const CacheController&) = delete;
  CacheController& operator=(const CacheController&) = delete;

  /// A frame with the page, pinned to read or to write. `whole`, unless null: what all of it is to be, which is copied
  /// there instead of being fetched. Throws Error.
  Task<std::uint32_t> obtain(std::uint64_t page, bool writing, const std::byte* whole = nullptr);
  void prefetch(std::uint64_t first, std::uint64_t count) noexcept;
  void advise(EvictionKind kind) { pool_.advise(kind); }
  /// A pin has ended that this may wait for.
  void unpinned() noexcept { tasks_.notify(); }

  /// All pages that are dirty now are written home and stay as clean ones. Throws the first failure.
  Task<> clean_all();
  /// Begins to write a page home, if that can be done now.
  void recall(std::uint64_t page);
  Unflushed& unflushed() noexcept { return dirty_.unflushed(); }
  /// Waits for what is under way.
  Task<> quiesce();
  /// Once all caches are quiet: closes the file.
  Task<> close();
  /// Fails what waits. Nothing is sent any more.
  void stop() noexcept;

  /// Null when this cache has none.
  PageHome* home() noexcept { return home_.get(); }
  const SegmentCaches& caches() const noexcept { return caches_; }
  CacheTasks& tasks() noexcept { return tasks_; }
  const Frames& frames() const noexcept { return pool_.frames(); }
  std::shared_ptr<CacheController> alive() noexcept { return shared_from_this(); }

 private:
  static void receive_message(Rank& rank, const Message& message);
  static void receive_hint(Rank& rank, const Message& message);
  static Task<> watch_losses(Rank& rank, std::weak_ptr<CacheController> controller);
  std::uint32_t take_frame_now(std::uint64_t page);
  Task<std::uint32_t> take_frame(std::uint64_t page);
  void arrived(const std::byte* target) noexcept override;
  void fetch_wanted() noexcept;
  Task<> fetch_ahead(std::uint64_t page);
  Task<> wait_for_room_for_dirty();
  void forget_memory() noexcept;

  const SegmentCaches caches_;
  Rank& rank_;
  Memory memory_;
  CacheTasks tasks_;
  FramePool pool_;
  DirtyPages dirty_;
  std::unique_ptr<PageHome> home_;
  PageErrors errors_;
  PageSender sender_;
  PageCoherence coherence_;
  std::optional<LastCopies> last_copies_;
  AheadQueue ahead_;
  bool kept_for_io_ = false;  // the frames, by the loop's Io
  bool closed_ = false;
};

/// What was put through this cache before is durable at the homes of its pages when it returns. Throws the first
/// failure.
Task<> flush(CacheController& controller);

}  // namespace coracle::internals::storage
