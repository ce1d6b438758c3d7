// LastCopyBroker: the home's part in handing on last copies: it finds a cache that takes the page in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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

/// Of one home. It sends nothing.
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

}  // namespace coracle::internals::storage
