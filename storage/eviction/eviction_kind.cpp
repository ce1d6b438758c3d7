// The two kinds by recency alone, and the choice.
#include "storage/eviction/eviction_kind.hpp"

#include <vector>

#include "runtime/core/assert.hpp"
#include "storage/eviction/eviction_arc.hpp"
#include "storage/eviction/eviction_lists.hpp"

namespace coracle::internals::storage {
namespace {

/// By recency alone: the slot that was used the longest ago (lru) or last (mru) goes first.
class RecencyEviction final : public Eviction {
 public:
  RecencyEviction(std::uint32_t capacity, bool newest_first)
      : lists_(capacity, 1), present_(capacity), newest_first_(newest_first) {}

  void insert(std::uint32_t slot, std::uint64_t) override {
    CORACLE_ASSERT(slot < present_.size() && !present_[slot], "slot {} of {} is not empty", slot, present_.size());
    present_[slot] = true;
    lists_.push_front(0, slot);
  }

  void hit(std::uint32_t slot) noexcept override {
    CORACLE_ASSERT(present_[slot], "slot {} is empty", slot);
    lists_.unlink(slot);
    lists_.push_front(0, slot);
  }

  void remove(std::uint32_t slot, bool) noexcept override {
    CORACLE_ASSERT(present_[slot], "slot {} is empty already", slot);
    present_[slot] = false;
    lists_.unlink(slot);
  }

  std::optional<std::uint32_t> victim(std::uint64_t, const std::function<bool(std::uint32_t)>& may_evict) override {
    std::uint32_t slot = newest_first_ ? lists_.front(0) : lists_.back(0);
    while (slot != NumberLists::kEnd && !may_evict(slot))
      slot = newest_first_ ? lists_.after(slot) : lists_.before(slot);
    if (slot == NumberLists::kEnd) return std::nullopt;
    return slot;
  }

 private:
  NumberLists lists_;
  std::vector<bool> present_;
  bool newest_first_;
};

constexpr EvictionKind kKinds[] = {EvictionKind::lru, EvictionKind::arc, EvictionKind::mru};

}  // namespace

const char* to_string(EvictionKind kind) noexcept {
  switch (kind) {
    case EvictionKind::lru:
      return "lru";
    case EvictionKind::arc:
      return "arc";
    case EvictionKind::mru:
      break;
  }
  return "mru";
}

std::optional<EvictionKind> parse_eviction(std::string_view word) noexcept {
  for (const EvictionKind kind : kKinds)
    if (word == to_string(kind)) return kind;
  return std::nullopt;
}

std::unique_ptr<Eviction> make_eviction(EvictionKind kind, std::uint32_t capacity) {
  if (kind == EvictionKind::arc) return std::make_unique<ArcEviction>(capacity);
  return std::make_unique<RecencyEviction>(capacity, kind == EvictionKind::mru);
}

}  // namespace coracle::internals::storage
