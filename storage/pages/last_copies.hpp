// LastCopies: pages that are about to leave the last cache that has them are handed on to caches of idle peers:
// N-chance forwarding, after Dahlin, Wang, Anderson and Patterson, OSDI '94. All of it is hints and ordinary reads, so
// that coherence does not depend on it: docs/storage.md has the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/core/task.hpp"
#include "runtime/rank/message.hpp"
#include "storage/pages/cache_tasks.hpp"
#include "storage/pages/frame_pool.hpp"
#include "storage/pages/last_copy_broker.hpp"
#include "storage/pages/page_coherence.hpp"
#include "storage/pages/segment_caches.hpp"

namespace coracle::internals::storage {

/// Of one cache, and of the home beside it. Guests go before all other pages. A page that is held is as usable as ever
/// and goes when an answer has come; or before, when there is no other room, so that nobody ever waits for a hint.
class LastCopies {
 public:
  /// What it refers to must outlive it. `home`: that beside the cache, if there is one. `receiver`: finds the cache
  /// that a hint is for, and calls receive() there.
  LastCopies(const SegmentCaches& caches, CacheTasks& tasks, FramePool& pool, PageCoherence& coherence,
             const PageHome* home, Handler receiver);
  LastCopies(const LastCopies&) = delete;
  LastCopies& operator=(const LastCopies&) = delete;

  /// Somebody here wants a page that this cache has not.
  void missed() noexcept;
  /// `message`: with the words of a hint. Nothing happens where it is none for this cache.
  void receive(const Message& message);
  /// Hands on those that go next, so that frames are free when they are needed. `incoming`: the page that room was
  /// made for.
  void go_ahead(std::uint64_t incoming);
  /// From now on no page is handed on or taken in.
  void end() noexcept { ended_ = true; }

 private:
  using Kind = LastCopyHint::Kind;
  void handle(const LastCopyHint& hint);
  void post(CacheId to, LastCopyHint hint);
  Task<> send(std::uint32_t to, LastCopyHint hint);
  void offer(std::uint32_t frame);
  void answered(const LastCopyHint& hint);
  void rest() noexcept;
  void asked(LastCopyHint hint);
  bool make_room_for_guest(std::uint64_t page);
  Task<> take_in(LastCopyHint hint, std::uint32_t frame);
  std::uint64_t now_ns() const noexcept { return pool_.guests().now_ns(); }

  const SegmentCaches& caches_;
  CacheTasks& tasks_;
  FramePool& pool_;
  PageCoherence& coherence_;
  Handler receiver_;
  std::optional<LastCopyBroker> broker_;  // of the home
  std::size_t reserve_;                   // frames that are to be free, or held
  std::uint64_t missed_ns_ = 0;           // the last time; 0: never
  std::uint64_t rest_ns_ = 0;             // after the last refusal; 0: the last answer was none
  std::uint64_t rests_until_ns_ = 0;
  bool ended_ = false;
};

}  // namespace coracle::internals::storage
