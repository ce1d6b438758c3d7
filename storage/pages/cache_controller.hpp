// CacheController: fills and empties the frames of one cache, and speaks for it in the coherence protocol. It belongs
// to one rank; those that share its memory find cached pages by themselves (PageCache) and come here for the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/core/task.hpp"
#include "runtime/job/slab.hpp"
#include "storage/eviction/eviction_kind.hpp"
#include "storage/options/paged_options.hpp"
#include "storage/pages/cache_tasks.hpp"
#include "storage/pages/dirty_pages.hpp"
#include "storage/pages/frame_pool.hpp"
#include "storage/pages/last_copies.hpp"
#include "storage/pages/page_coherence.hpp"
#include "storage/pages/page_errors.hpp"
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

}  // namespace coracle::internals::storage
