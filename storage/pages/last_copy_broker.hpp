// LastCopyBroker: the home's part in handing on last copies: it finds a cache that takes the page in.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "storage/pages/last_copy_hint.hpp"
#include "storage/pages/page_home.hpp"
#include "storage/pages/segment_caches.hpp"
#include "storage/protocol/protocol.hpp"

namespace coracle::internals::storage {

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
