#include "storage/pages/last_copies.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::storage {
namespace {

/// A cache without a miss of its own for so long is idle, and so is a page that was not used for so long.
constexpr std::uint64_t kQuietNs = 1'000'000'000;
/// After a refusal no page is handed on for a while, twice as long each time.
constexpr std::uint64_t kRestMinNs = 10'000'000;
constexpr std::uint64_t kRestMaxNs = 1'000'000'000;
/// An answer that has not come by then does not come any more.
constexpr std::uint64_t kPatienceNs = 100'000'000;
constexpr std::size_t kReserveMax = 16;

}  // namespace

LastCopies::LastCopies(const SegmentCaches& caches, CacheTasks& tasks, FramePool& pool, PageCoherence& coherence,
                       const PageHome* home, Handler receiver)
    : caches_(caches),
      tasks_(tasks),
      pool_(pool),
      coherence_(coherence),
      receiver_(receiver),
      reserve_(std::clamp<std::size_t>(pool.size() / 8, 1, kReserveMax)) {
  if (home != nullptr) broker_.emplace(caches, *home);
}

void LastCopies::missed() noexcept {
  missed_ns_ = std::max<std::uint64_t>(now_ns(), 1);
}

// --- hints ---

void LastCopies::post(CacheId to, LastCopyHint hint) {
  if (tasks_.stopped()) return;
  hint.from = caches_.own();
  if (to == caches_.own()) return handle(hint);
  tasks_.spawn(send(caches_.peer(to).rank, hint));
}

Task<> LastCopies::send(std::uint32_t to, LastCopyHint hint) {
  const LastCopyHint::Words words = hint.words(caches_.segment());
  try {
    co_await caches_.rank().request(to, receiver_, {}, words.kind, words.page, words.nodes);
  } catch (const Error&) {
    // The peer is lost, or this rank ends: a hint less.
  }
}

void LastCopies::receive(const Message& message) {
  const LastCopyHint::Words words{message.argument(0), message.argument(1), message.argument(2)};
  const auto hint = LastCopyHint::of(words, pool_.frames().shape().pages, caches_.nodes());
  if (hint && caches_.peer(hint->from).rank == message.source()) handle(*hint);
}

void LastCopies::handle(const LastCopyHint& hint) {
  if (ended_) return;
  if (hint.kind == Kind::asked) return asked(hint);
  if (hint.kind == Kind::refused || caches_.home_of(hint.page) != caches_.own()) return answered(hint);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): a home has one
  const std::pair<CacheId, LastCopyHint> passed = broker_->pass_on(hint);
  if (passed.first == caches_.own() && passed.second.kind != Kind::asked) return answered(passed.second);
  post(passed.first, passed.second);
}

// --- of the cache that a page leaves ---

void LastCopies::go_ahead(std::uint64_t incoming) {
  GuestFrames& guests = pool_.guests();
  const std::uint64_t now = now_ns();
  if (ended_ || now < rests_until_ns_) return;
  const std::uint32_t oldest = guests.oldest(GuestFrames::kHeld);
  if (oldest != NumberLists::kEnd && now > guests.at(oldest).since_ns + kPatienceNs) guests.let_go(oldest);
  const std::size_t held_max = rest_ns_ > 0 ? 1 : reserve_;  // one tries whether that has changed
  for (std::size_t tries = 0; tries < reserve_; ++tries) {
    const std::size_t held = guests.held_count();
    if (pool_.free_frames() + held >= reserve_ || held >= held_max || now < rests_until_ns_) return;
    const std::optional<std::uint32_t> victim = pool_.clean_victim(incoming);
    if (!victim) return;
    if (guests.at(*victim).chances > 0 && !guests.at(*victim).elsewhere)
      offer(*victim);
    else
      pool_.evict(*victim);
  }
}

void LastCopies::offer(std::uint32_t frame) {
  CacheCounters::add(pool_.frames().counters().offered);
  pool_.guests().hold(frame);
  LastCopyHint hint;
  hint.page = pool_.at(frame).number;
  hint.chances = pool_.guests().at(frame).chances;
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
  GuestFrames& guests = pool_.guests();
  const std::uint32_t frame = pool_.frames().find(hint.page);
  if (frame == Frames::kNone || !guests.held(frame)) return;  // it was used, has changed, or is gone
  guests.let_go(frame);
  if (hint.kind == Kind::refused) return;
  if (hint.kind == Kind::taken) CacheCounters::add(pool_.frames().counters().handed_on);
  guests.set_elsewhere(frame, true);
  if (pool_.is_clean(frame) && !pool_.take_use(frame)) pool_.evict(frame);
}

// --- of a peer's cache ---

void LastCopies::asked(LastCopyHint hint) {
  if (hint.leaves == caches_.own() || caches_.home_is_lost(hint.page)) return;
  GuestFrames& guests = pool_.guests();
  std::uint32_t frame = pool_.frames().find(hint.page);
  const bool has = frame != Frames::kNone && !guests.held(frame);
  if (has) guests.set_elsewhere(frame, false);
  if (has || frame != Frames::kNone || !make_room_for_guest(hint.page)) {
    hint.kind = has ? Kind::had : Kind::declined;
    return post(caches_.home_of(hint.page), hint);
  }
  frame = pool_.take(hint.page);
  pool_.place(hint.page, frame);
  guests.make_guest(frame, static_cast<std::uint8_t>(hint.chances - 1));
  tasks_.spawn(take_in(hint, frame));
}

/// Whether there is a free frame now. What goes for it is not handed on in its turn: no hint leads to another.
bool LastCopies::make_room_for_guest(std::uint64_t page) {
  const bool quiet = missed_ns_ == 0 || now_ns() >= missed_ns_ + kQuietNs;
  const std::size_t kept = quiet ? 0 : pool_.size() / 2;  // for what this cache's own users and their read-ahead want
  if (pool_.free_frames() > kept) return true;
  if (!quiet) return false;
  std::optional<std::uint32_t> victim = pool_.own_victim(page);
  if (!victim || now_ns() < pool_.guests().at(*victim).since_ns + kQuietNs) victim = pool_.oldest_guest();
  return victim && pool_.evict(*victim) && pool_.free_frames() > 0;
}

/// The page leaves the other cache when it has come, or can't.
Task<> LastCopies::take_in(LastCopyHint hint, std::uint32_t frame) {
  PageWaiting waiting;
  coherence_.ask(frame, waiting);
  co_await uninterrupted(waiting.done);
  const bool came = waiting.frame != Frames::kNone;
  if (came) {
    pool_.frames().head(frame).unpin(false);
    CacheCounters::add(pool_.frames().counters().taken_in);
  }
  hint.kind = came ? Kind::taken : Kind::had;
  post(caches_.home_of(hint.page), hint);
}

namespace {

/// Who has declined is not asked before that has passed: as long as a cache must be without a miss to be idle.
constexpr std::uint64_t kBusyNs = 1'000'000'000;
/// Who has not answered for so long (he is dead, or computes) is not asked until he does.
constexpr std::uint64_t kSlowNs = 10'000'000;
/// For one page: those that may have it, and all.
constexpr std::size_t kSharersAskedMax = 2;
constexpr std::size_t kAskedMax = 4;

constexpr int kKindAt = 32;
constexpr int kChancesAt = 40;
constexpr int kAskedAt = 48;

}  // namespace

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
                    hint.chances > 0 && hint.chances <= kChancesMax;
  return fits ? std::optional(hint) : std::nullopt;
}

std::pair<CacheId, LastCopyHint> LastCopyBroker::pass_on(LastCopyHint hint) {
  if (hint.kind != Kind::leaving) peers_[hint.from].asked_ns = 0;
  if (hint.kind == Kind::declined) peers_[hint.from].busy_until_ns = now_ns() + kBusyNs;
  if (hint.kind == Kind::taken || hint.kind == Kind::had) return {hint.leaves, hint};
  const HomePage* page = home_.known(hint.page);
  // An owner has what the others have; who is about to get the page will have it; and who is not listed has it no more.
  const bool alone = page != nullptr && page->idle() && page->owner() == kNoCache &&
                     std::find(page->sharers().begin(), page->sharers().end(), hint.leaves) != page->sharers().end();
  const CacheId to = alone ? whom_to_ask(hint, *page) : kNoCache;
  if (to == kNoCache) {
    hint.kind = alone ? Kind::refused : Kind::had;
    return {hint.leaves, hint};
  }
  hint.kind = Kind::asked;
  ++hint.asked;
  if (peers_[to].asked_ns == 0) peers_[to].asked_ns = now_ns();
  return {to, hint};
}

/// First those that the directory takes for sharers, which may have dropped it: they know. Then who may be idle.
CacheId LastCopyBroker::whom_to_ask(const LastCopyHint& hint, const HomePage& page) {
  if (hint.asked >= kAskedMax) return kNoCache;
  std::size_t others = 0;
  for (auto sharer = page.sharers().rbegin(); sharer != page.sharers().rend() && others < kSharersAskedMax; ++sharer)
    if (*sharer != hint.leaves && !slow(*sharer) && others++ == hint.asked) return *sharer;
  return next_idle(hint.leaves);
}

CacheId LastCopyBroker::next_idle(CacheId leaves) {
  for (std::size_t tries = 0; tries < peers_.size(); ++tries) {
    const CacheId node = next_;
    next_ = (next_ + 1) % static_cast<CacheId>(peers_.size());
    if (node != leaves && !slow(node) && now_ns() >= peers_[node].busy_until_ns) return node;
  }
  return kNoCache;
}

bool LastCopyBroker::slow(CacheId node) const noexcept {
  return peers_[node].asked_ns != 0 && now_ns() > peers_[node].asked_ns + kSlowNs;
}

std::uint64_t LastCopyBroker::now_ns() const noexcept {
  return caches_.rank().loop().now_ns();
}

}  // namespace coracle::internals::storage
