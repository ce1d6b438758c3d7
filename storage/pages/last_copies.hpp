// LastCopies: pages that are about to leave the last cache that has them are handed on to caches of idle peers:
// N-chance forwarding, after Dahlin, Wang, Anderson and Patterson, OSDI '94. All of it is hints and ordinary reads, so
// that coherence does not depend on it: docs/storage.md has the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/rank/message.hpp"
#include "storage/eviction/eviction_lists.hpp"
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

/// Of one cache, and of the home beside it. A *guest* is a page that was taken in for others and has not been used
/// here; guests go before all other pages. A page is *held* while its hint is on its way: it is as usable as ever and
/// goes when an answer has come; or before, when there is no other room, so that nobody ever waits for a hint.
class LastCopies {
 public:
  static constexpr std::uint32_t kChancesMax = 15;

  /// What they ask of their cache.
  class Cache {
   public:
    virtual bool stopped() const noexcept = 0;
    /// Starts `task`, which must not throw; the cache's end waits for it.
    virtual void spawn(Task<> task) = 0;
    virtual std::uint64_t page_in(std::uint32_t frame) const noexcept = 0;
    virtual std::size_t free_frames() const noexcept = 0;
    virtual bool is_clean(std::uint32_t frame) const noexcept = 0;
    /// A clean page that nobody uses or waits for at this moment.
    virtual bool may_go(std::uint32_t frame) const noexcept = 0;
    /// Whether the page there was used since this was last asked, so that another is to go before it.
    virtual bool take_use(std::uint32_t frame) noexcept = 0;
    /// The page that may go and is needed least; of those that are no guests.
    virtual std::optional<std::uint32_t> clean_victim(std::uint64_t incoming) = 0;
    virtual std::optional<std::uint32_t> own_victim(std::uint64_t incoming) = 0;
    /// Forgets a clean page. Its frame is free, at once or when the page has been sent to whom it was to be sent.
    /// False: somebody uses it.
    virtual bool evict(std::uint32_t frame) = 0;
    /// There is a free frame, and `page` is in none.
    virtual std::uint32_t place_in_free(std::uint64_t page) = 0;
    /// Asks for the page that was placed there; true when it has come.
    virtual Task<bool> fetch_guest(std::uint32_t frame) = 0;

   protected:
    ~Cache() = default;
  };

  /// What it refers to must outlive it. `home`: that beside the cache, if there is one. `receiver`: finds the cache
  /// that a hint is for, and calls receive() there.
  LastCopies(const SegmentCaches& caches, Cache& cache, const PageHome* home, std::uint32_t chances, Handler receiver);
  LastCopies(const LastCopies&) = delete;
  LastCopies& operator=(const LastCopies&) = delete;

  // --- what its controller tells ---
  void placed(std::uint32_t frame) noexcept;
  void gone(std::uint32_t frame) noexcept;
  /// The page there was used here, or somebody here waits for it.
  void used(std::uint32_t frame) noexcept;
  /// Somebody here wants a page that this cache has not.
  void missed() noexcept;
  /// The page there has come from another cache, or was sent to one.
  void came_from_peer(std::uint32_t frame) noexcept { copies_[frame].elsewhere = !copies_[frame].guest; }
  void sent_to_peer(std::uint32_t frame) noexcept;
  /// All other copies are gone.
  void became_only(std::uint32_t frame) noexcept { copies_[frame].elsewhere = false; }
  /// `message`: with the words of a hint. False: it is none for this cache.
  bool receive(const Message& message);
  /// From now on no page is handed on or taken in.
  void end() noexcept { ended_ = true; }

  // --- who goes ---
  bool held(std::uint32_t frame) const noexcept { return copies_[frame].list == kHeld; }
  bool guest(std::uint32_t frame) const noexcept { return copies_[frame].guest; }
  /// The guest that came, or was sent to a peer, the longest ago, and may go.
  std::optional<std::uint32_t> oldest_guest() noexcept;
  /// Where all else fails.
  std::optional<std::uint32_t> oldest_held() const noexcept;
  /// Hands on those that go next, so that frames are free when they are needed. `incoming`: the page that room was
  /// made for.
  void go_ahead(std::uint64_t incoming);

 private:
  using Kind = LastCopyHint::Kind;
  enum List : std::uint32_t { kGuests, kHeld, kNone };
  struct Copy {
    std::uint64_t since_ns = 0;  // it came, or was seen to be used; held: its hint was sent
    List list = kNone;
    std::uint8_t chances = 0;
    bool guest = false;
    bool elsewhere = false;  // another cache had it when it came, and has not said that it drops it
  };

  void handle(const LastCopyHint& hint);
  void handle_answer(const LastCopyHint& hint);
  void post(CacheId to, LastCopyHint hint);
  Task<> send(std::uint32_t to, LastCopyHint hint);
  void enlist(std::uint32_t frame, List list) noexcept;
  void offer(std::uint32_t frame);
  void answered(const LastCopyHint& hint);
  void rest() noexcept;
  void pass_on(LastCopyHint hint);
  CacheId whom_to_ask(const LastCopyHint& hint, const HomePage& page);
  CacheId next_idle(CacheId leaves);
  bool slow(CacheId node) const noexcept;
  void asked(LastCopyHint hint);
  bool make_room_for_guest(std::uint64_t page);
  Task<> take_in(LastCopyHint hint, std::uint32_t frame);
  std::uint64_t now_ns() const noexcept;

  const SegmentCaches& caches_;
  Cache& cache_;
  const PageHome* home_;
  Handler receiver_;
  std::vector<Copy> copies_;  // by frame
  NumberLists lists_;         // of frames; the newest in front
  std::uint32_t chances_;
  std::size_t reserve_;  // frames that are to be free, or held
  std::size_t held_ = 0;
  std::uint64_t missed_ns_ = 0;  // the last time; 0: never
  std::uint64_t rest_ns_ = 0;    // after the last refusal; 0: the last answer was none
  std::uint64_t rests_until_ns_ = 0;
  bool ended_ = false;
  // Of the home's.
  struct Peer {
    std::uint64_t busy_until_ns = 0;
    std::uint64_t asked_ns = 0;  // the first time since its last answer; 0: nothing
  };
  std::vector<Peer> peers_;
  CacheId next_ = 0;  // who is asked next
};

}  // namespace coracle::internals::storage
