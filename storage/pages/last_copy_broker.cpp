#include "storage/pages/last_copy_broker.hpp"

#include <algorithm>

#include "runtime/rank/rank.hpp"

namespace coracle::internals::storage {
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
