// PageCoherence: one cache's part in the coherence protocol, and that of the home beside it: carries out what their
// machines say, for the frames and the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/task.hpp"
#include "storage/pages/dirty_pages.hpp"
#include "storage/pages/frame_pool.hpp"
#include "storage/pages/page_events.hpp"
#include "storage/pages/page_home.hpp"
#include "storage/pages/page_sender.hpp"
#include "storage/pages/segment_caches.hpp"
#include "storage/protocol/coherence_message.hpp"
#include "storage/protocol/protocol.hpp"

namespace coracle::internals::storage {

/// Used by its rank's thread. The cache calls the home beside it, which answers by what it returns; that never comes to
/// the cache in the midst of something else, but one after the other when that is over.
class PageCoherence {
 public:
  /// What it refers to must outlive it. `home`: that beside the cache, or null.
  PageCoherence(const SegmentCaches& caches, CacheTasks& tasks, const PageErrors& errors, PageSender& sender,
                FramePool& pool, DirtyPages& dirty, PageHome* home);
  PageCoherence(const PageCoherence&) = delete;
  PageCoherence& operator=(const PageCoherence&) = delete;

  /// Joins those who wait for the page that was placed in `frame`; asks for it where that has to be.
  void ask(std::uint32_t frame, PageWaiting& waiting);
  /// Copies what all of its page is to be into a frame.
  void fill(std::uint32_t frame, const std::byte* whole) noexcept;
  /// Begins to write the page in `frame` home. False when a writer has it pinned or nothing is to be done.
  bool begin_put(std::uint32_t frame);
  /// To be called when puts were begun.
  void hear_home();
  /// Begins puts of the longest dirty pages: see DirtyPages.
  void put_oldest(std::size_t dirty_wanted, DirtyPages::Told told);
  /// From another cache, or its home. `page`: what came with it, if anything did.
  void receive(const CoherenceMessage& coherence_message, std::span<const std::byte> page);
  /// That cache is no more, and its home.
  void lost(CacheId node);
  /// Refuses what others wait for, and fails who waits here.
  void stop();

 private:
  /// While it lives, what the home says waits.
  class Deferral {
   public:
    explicit Deferral(PageCoherence& pages) noexcept : pages_(pages), outer_(std::exchange(pages.deferring_, true)) {}
    ~Deferral() { pages_.deferring_ = outer_; }
    Deferral(const Deferral&) = delete;
    Deferral& operator=(const Deferral&) = delete;

   private:
    PageCoherence& pages_;
    bool outer_;
  };

  // --- of the cache ---
  void serve(std::uint32_t frame);
  void take(const CoherenceMessage& coherence_message, std::span<const std::byte> page);
  void tell_of_page(std::uint32_t frame, const CoherenceMessage& coherence_message);
  void take_for_unknown_page(const CoherenceMessage& coherence_message);
  void perform(std::uint32_t frame, const CacheActions& actions, std::uint32_t target = 0);
  void perform(std::uint32_t frame, const CacheAction& action, std::uint32_t target);
  void send_home(std::uint64_t page, const PageMessage& message, std::uint32_t frame);
  void acknowledge(std::uint32_t frame, const PageMessage& message);
  Task<> acknowledge_when_unpinned(std::uint32_t frame, std::uint64_t page, PageMessage message);
  Task<> answer_when_left(std::uint64_t page, PageMessage message);
  Task<> send_page(std::uint32_t frame, std::uint32_t target, CoherenceMessage coherence_message, bool exclusive);
  void note_dirty(std::uint32_t frame);
  void give_up(std::uint32_t frame, const Error& error, bool data_may_come);

  // --- of the home beside it ---
  void perform(std::uint64_t page, HomeActions actions, PageBuffers::Buffer* with_message = nullptr);
  void perform_all(PageHome::ActionsOfPages all);
  Task<> read_for(std::uint64_t page, CacheId requester, std::uint32_t frame);
  Task<> write_from(std::uint64_t page, CacheId owner, std::uint32_t frame);

  const SegmentCaches& caches_;
  CacheTasks& tasks_;
  const PageErrors& errors_;
  PageSender& sender_;
  FramePool& pool_;
  const Frames& frames_;
  DirtyPages& dirty_;
  PageHome* const home_;
  std::deque<CoherenceMessage> from_home_;  // what it has said to this cache, not heard yet
  std::multiset<std::uint64_t> leaving_;    // pages whose last pins here end before others may have them
  PageEvents events_;
  std::uint32_t last_number_ = 0;
  bool deferring_ = false;
};

}  // namespace coracle::internals::storage
