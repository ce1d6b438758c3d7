#include "storage/pages/last_copies.hpp"

#include <algorithm>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::storage {
namespace {

/// A cache without a miss of its own for so long is idle, and so is a page that was not used for so long. So who has
/// declined is not asked before that has passed.
constexpr std::uint64_t kQuietNs = 1'000'000'000;
/// After a refusal no page is handed on for a while, twice as long each time.
constexpr std::uint64_t kRestMinNs = 10'000'000;
constexpr std::uint64_t kRestMaxNs = 1'000'000'000;
/// Who has not answered for so long (he is dead, or computes) is not asked until he does.
constexpr std::uint64_t kSlowNs = 10'000'000;
/// An answer that has not come by then does not come any more.
constexpr std::uint64_t kPatienceNs = 100'000'000;
constexpr std::size_t kReserveMax = 16;
/// For one page: those that may have it, and all.
constexpr std::size_t kSharersAskedMax = 2;
constexpr std::size_t kAskedMax = 4;

constexpr int kKindAt = 32;
constexpr int kChancesAt = 40;
constexpr int kAskedAt = 48;

}  // namespace

// --- on the wire ---

LastCopyHint::Words LastCopyHint::words(std::uint32_t segment) const noexcept {
  return {segment | std::uint64_t{static_cast<std::uint8_t>(kind)} << kKindAt | std::uint64_t{chances} << kChancesAt |
              std::uint64_t{asked} << kAskedAt,
          page, std::uint64_t{from} << 32 | leaves};
}

std::optional<LastCopyHint> LastCopyHint::of(const Words& words, std::uint64_t pages, std::size_t nodes) noexcept {
  const auto kind = words.kind >> kKindAt & 0xff;
  LastCopyHint hint;
  hint.kind = static_cast<Kind>(kind);
  hint.chances = static_cast<std::uint8_t>(words.kind >> kChancesAt);
  hint.asked = static_cast<std::uint8_t>(words.kind >> kAskedAt);
  hint.page = words.page;
  hint.from = static_cast<CacheId>(words.nodes >> 32);
  hint.leaves = static_cast<CacheId>(words.nodes);
  const bool fits = kind < kKinds && hint.page < pages && hint.from < nodes && hint.leaves < nodes &&
                    hint.chances > 0 && hint.chances <= LastCopies::kChancesMax;
  return fits ? std::optional(hint) : std::nullopt;
}

LastCopies::LastCopies(const SegmentCaches& caches, Cache& cache, const PageHome* home, std::uint32_t chances,
                       Handler receiver)
    : caches_(caches),
      cache_(cache),
      home_(home),
      receiver_(receiver),
      copies_(caches.frames().shape().frames),
      lists_(caches.frames().shape().frames, 2),
      chances_(chances),
      reserve_(std::clamp<std::size_t>(caches.frames().shape().frames / 8, 1, kReserveMax)),
      peers_(home != nullptr ? caches.nodes() : 0) {}

std::uint64_t LastCopies::now_ns() const noexcept {
  return caches_.rank().loop().now_ns();
}

void LastCopies::post(CacheId to, LastCopyHint hint) {
  if (cache_.stopped()) return;
  hint.from = caches_.own();
  if (to == caches_.own()) return handle(hint);
  cache_.spawn(send(caches_.peer(to).rank, hint));
}

Task<> LastCopies::send(std::uint32_t to, LastCopyHint hint) {
  const LastCopyHint::Words words = hint.words(caches_.segment());
  try {
    co_await caches_.rank().request(to, receiver_, {}, words.kind, words.page, words.nodes);
  } catch (const Error&) {
    // The peer is lost, or this rank ends: a hint less.
  }
}

bool LastCopies::receive(const Message& message) {
  const LastCopyHint::Words words{message.argument(0), message.argument(1), message.argument(2)};
  const auto hint = LastCopyHint::of(words, caches_.frames().shape().pages, caches_.nodes());
  if (!hint || caches_.peer(hint->from).rank != message.source()) return false;
  handle(*hint);
  return true;
}

void LastCopies::handle(const LastCopyHint& hint) {
  if (ended_) return;
  if (hint.kind == Kind::asked) return asked(hint);
  if (caches_.home_of(hint.page) != caches_.own()) return answered(hint);
  if (hint.kind == Kind::leaving) return pass_on(hint);
  peers_[hint.from].asked_ns = 0;
  if (hint.kind == Kind::declined) {
    peers_[hint.from].busy_until_ns = now_ns() + kQuietNs;
    return pass_on(hint);
  }
  if (hint.leaves == caches_.own()) return answered(hint);
  post(hint.leaves, hint);
}

// --- the frames ---

void LastCopies::enlist(std::uint32_t frame, List list) noexcept {
  Copy& copy = copies_[frame];
  if (copy.list != kNone) lists_.unlink(frame);
  held_ -= copy.list == kHeld ? 1 : 0;
  held_ += list == kHeld ? 1 : 0;
  copy.list = list;
  if (list != kNone) lists_.push_front(list, frame);
}

void LastCopies::placed(std::uint32_t frame) noexcept {
  copies_[frame].since_ns = now_ns();
  copies_[frame].chances = static_cast<std::uint8_t>(chances_);
}

void LastCopies::gone(std::uint32_t frame) noexcept {
  enlist(frame, kNone);
  copies_[frame] = {};
}

void LastCopies::used(std::uint32_t frame) noexcept {
  enlist(frame, kNone);
  copies_[frame].guest = false;
  placed(frame);
}

void LastCopies::missed() noexcept {
  missed_ns_ = std::max<std::uint64_t>(now_ns(), 1);
}

/// It has been of use: other guests go before it.
void LastCopies::sent_to_peer(std::uint32_t frame) noexcept {
  if (copies_[frame].list == kGuests) enlist(frame, kGuests);
}

std::optional<std::uint32_t> LastCopies::oldest_guest() noexcept {
  for (std::uint32_t frame = lists_.back(kGuests); frame != NumberLists::kEnd;) {
    const std::uint32_t newer = lists_.before(frame);
    if (cache_.may_go(frame)) {
      if (!cache_.take_use(frame)) return frame;
    }
    frame = newer;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> LastCopies::oldest_held() const noexcept {
  for (std::uint32_t frame = lists_.back(kHeld); frame != NumberLists::kEnd; frame = lists_.before(frame))
    if (cache_.may_go(frame)) return frame;
  return std::nullopt;
}

// --- of the cache that a page leaves ---

void LastCopies::go_ahead(std::uint64_t incoming) {
  const std::uint64_t now = now_ns();
  if (ended_ || now < rests_until_ns_) return;
  if (held_ > 0) {
    const std::uint32_t oldest = lists_.back(kHeld);
    if (now > copies_[oldest].since_ns + kPatienceNs) enlist(oldest, copies_[oldest].guest ? kGuests : kNone);
  }
  const std::size_t held_max = rest_ns_ > 0 ? 1 : reserve_;  // one tries whether that has changed
  for (std::size_t tries = 0; tries < reserve_; ++tries) {
    if (cache_.free_frames() + held_ >= reserve_ || held_ >= held_max || now < rests_until_ns_) return;
    const std::optional<std::uint32_t> victim = cache_.clean_victim(incoming);
    if (!victim) return;
    if (copies_[*victim].chances > 0 && !copies_[*victim].elsewhere)
      offer(*victim);
    else
      cache_.evict(*victim);
  }
}

void LastCopies::offer(std::uint32_t frame) {
  CacheCounters::add(caches_.frames().counters().offered);
  enlist(frame, kHeld);
  copies_[frame].since_ns = now_ns();
  LastCopyHint hint;
  hint.page = cache_.page_in(frame);
  hint.chances = copies_[frame].chances;
  hint.leaves = caches_.own();
  post(caches_.home_of(hint.page), hint);
}

void LastCopies::rest() noexcept {
  rest_ns_ = std::clamp(2 * rest_ns_, kRestMinNs, kRestMaxNs);
  rests_until_ns_ = now_ns() + rest_ns_;
}

void LastCopies::answered(const LastCopyHint& hint) {
  if (hint.leaves != caches_.own() || hint.kind < Kind::taken) return;
  // One for all hints that were on their way.
  if (hint.kind == Kind::refused && now_ns() >= rests_until_ns_) rest();
  if (hint.kind == Kind::taken) rest_ns_ = rests_until_ns_ = 0;
  const std::uint32_t frame = caches_.frames().find(hint.page);
  if (frame == Frames::kNone || !held(frame)) return;  // it was used, has changed, or is gone
  enlist(frame, copies_[frame].guest ? kGuests : kNone);
  if (hint.kind == Kind::refused) return;
  if (hint.kind == Kind::taken) CacheCounters::add(caches_.frames().counters().handed_on);
  copies_[frame].elsewhere = true;
  if (cache_.is_clean(frame) && !cache_.take_use(frame)) cache_.evict(frame);
}

// --- of the page's home ---

void LastCopies::pass_on(LastCopyHint hint) {
  const HomePage* page = home_->known(hint.page);
  // An owner has what the others have; who is about to get the page will have it; and who is not listed has it no more.
  const bool alone = page != nullptr && page->idle() && page->owner() == kNoCache &&
                     std::find(page->sharers().begin(), page->sharers().end(), hint.leaves) != page->sharers().end();
  const CacheId to = alone ? whom_to_ask(hint, *page) : kNoCache;
  if (to == kNoCache) {
    hint.kind = alone ? Kind::refused : Kind::had;
    return post(hint.leaves, hint);
  }
  hint.kind = Kind::asked;
  ++hint.asked;
  if (peers_[to].asked_ns == 0) peers_[to].asked_ns = now_ns();
  post(to, hint);
}

/// First those that the directory takes for sharers, which may have dropped it: they know. Then who may be idle.
CacheId LastCopies::whom_to_ask(const LastCopyHint& hint, const HomePage& page) {
  if (hint.asked >= kAskedMax) return kNoCache;
  std::size_t others = 0;
  for (auto sharer = page.sharers().rbegin(); sharer != page.sharers().rend() && others < kSharersAskedMax; ++sharer)
    if (*sharer != hint.leaves && !slow(*sharer) && others++ == hint.asked) return *sharer;
  return next_idle(hint.leaves);
}

CacheId LastCopies::next_idle(CacheId leaves) {
  for (std::size_t tries = 0; tries < peers_.size(); ++tries) {
    const CacheId node = next_;
    next_ = (next_ + 1) % static_cast<CacheId>(peers_.size());
    if (node != leaves && !slow(node) && now_ns() >= peers_[node].busy_until_ns) return node;
  }
  return kNoCache;
}

bool LastCopies::slow(CacheId node) const noexcept {
  return peers_[node].asked_ns != 0 && now_ns() > peers_[node].asked_ns + kSlowNs;
}

// --- of a peer's cache ---

void LastCopies::asked(LastCopyHint hint) {
  if (hint.leaves == caches_.own() || caches_.home_is_lost(hint.page)) return;
  std::uint32_t frame = caches_.frames().find(hint.page);
  if (frame != Frames::kNone && !held(frame)) {
    copies_[frame].elsewhere = false;
    hint.kind = Kind::had;
    return post(caches_.home_of(hint.page), hint);
  }
  if (frame != Frames::kNone || !make_room_for_guest(hint.page)) {
    hint.kind = Kind::declined;
    return post(caches_.home_of(hint.page), hint);
  }
  frame = cache_.place_in_free(hint.page);
  copies_[frame].guest = true;
  copies_[frame].chances = static_cast<std::uint8_t>(hint.chances - 1);
  enlist(frame, kGuests);
  cache_.spawn(take_in(hint, frame));
}

/// Whether there is a free frame now. What goes for it is not handed on in its turn: no hint leads to another.
bool LastCopies::make_room_for_guest(std::uint64_t page) {
  const bool quiet = missed_ns_ == 0 || now_ns() >= missed_ns_ + kQuietNs;
  const std::size_t kept = quiet ? 0 : copies_.size() / 2;  // for what this cache's own users and their read-ahead want
  if (cache_.free_frames() > kept) return true;
  if (!quiet) return false;
  std::optional<std::uint32_t> victim = cache_.own_victim(page);
  if (!victim || now_ns() < copies_[*victim].since_ns + kQuietNs) victim = oldest_guest();
  return victim && cache_.evict(*victim) && cache_.free_frames() > 0;
}

/// The page leaves the other cache when it has come, or can't.
Task<> LastCopies::take_in(LastCopyHint hint, std::uint32_t frame) {
  const bool came = co_await cache_.fetch_guest(frame);
  if (came) CacheCounters::add(caches_.frames().counters().taken_in);
  hint.kind = came ? Kind::taken : Kind::had;
  post(caches_.home_of(hint.page), hint);
}

}  // namespace coracle::internals::storage
