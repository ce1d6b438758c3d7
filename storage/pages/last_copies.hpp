// LastCopies: pages that are about to leave the last cache that has them are handed on to caches of idle peers:
// N-chance forwarding, after Dahlin, Wang, Anderson and Patterson, OSDI '94. All of it is hints and ordinary reads, so
// that coherence does not depend on it: docs/storage.md has the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/rank/message.hpp"
#include "storage/pages/cache_tasks.hpp"
#include "storage/pages/frame_pool.hpp"
#include "storage/pages/page_coherence.hpp"
#include "storage/pages/page_home.hpp"
#include "storage/pages/segment_caches.hpp"
#include "storage/protocol/protocol.hpp"

namespace coracle::internals::storage {

/// What caches and homes tell each other about a page that is to leave a cache.
struct LastCopyHint {
  /// leaving: from the cache to the page's home. asked: from the home to a cache that may take it in. That one's
  /// answers: declined; taken, it has taken the page in; had, it has it anyway. The home passes these two on to the
  /// cache that the page is to leave, or says refused: nobody is idle.
  enum class Kind : std::uint8_t { leaving, asked, declined, taken, had, refused };
  static constexpr std::size_t kKinds = 6;
  static constexpr std::uint32_t kChancesMax = 15;

  Kind kind = Kind::leaving;
  std::uint8_t chances = 0;  ///< How often it may still be handed on, this time included.
  std::uint8_t asked = 0;    ///< How many caches were asked.
  std::uint64_t page = 0;
  CacheId leaves = kNoCache;  ///< Which cache.
  CacheId from = kNoCache;

  static constexpr std::size_t kWords = 3;
  struct Words {
    std::uint64_t kind;
    std::uint64_t page;
    std::uint64_t nodes;
  };
  Words words(std::uint32_t segment) const noexcept;
  static std::uint32_t segment_of(std::uint64_t kind) noexcept { return static_cast<std::uint32_t>(kind); }
  /// Of what came from a peer; nothing where no cache of a segment of so many `pages` and `nodes` can have sent it.
  static std::optional<LastCopyHint> of(const Words& words, std::uint64_t pages, std::size_t nodes) noexcept;
};

/// The home's part in handing on last copies: it finds a cache that takes the page in. Of one home. It sends nothing.
class LastCopyBroker {
 public:
  /// What it refers to must outlive it.
  LastCopyBroker(const SegmentCaches& caches, const PageHome& home)
      : caches_(caches), home_(home), peers_(caches.nodes()) {}

  /// What a cache has told its page's home, and to which cache the home says what then.
  std::pair<CacheId, LastCopyHint> pass_on(LastCopyHint hint);

 private:
  using Kind = LastCopyHint::Kind;
  struct Peer {
    std::uint64_t busy_until_ns = 0;
    std::uint64_t asked_ns = 0;  // the first time since its last answer; 0: nothing
  };
  CacheId whom_to_ask(const LastCopyHint& hint, const HomePage& page);
  CacheId next_idle(CacheId leaves);
  bool slow(CacheId node) const noexcept;
  std::uint64_t now_ns() const noexcept;

  const SegmentCaches& caches_;
  const PageHome& home_;
  std::vector<Peer> peers_;
  CacheId next_ = 0;  // who is asked next
};

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
