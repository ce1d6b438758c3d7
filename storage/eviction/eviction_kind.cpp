// The two kinds by recency alone, and the choice.
#include "storage/eviction/eviction_kind.hpp"

#include <vector>

#include "runtime/core/assert.hpp"
#include "storage/eviction/eviction_arc.hpp"
#include "storage/eviction/eviction_lists.hpp"

namespace coracle::internals::storage {
namespace {

/// By recency alone: the frame that was used the longest ago (lru) or last (mru) goes first.
class RecencyEviction final : public Eviction {
 public:
  RecencyEviction(std::uint32_t capacity, bool newest_first)
      : lists_(capacity, 1), present_(capacity), newest_first_(newest_first) {}

  void insert(std::uint32_t frame, std::uint64_t) override {
    CORACLE_ASSERT(frame < present_.size() && !present_[frame], "frame {} of {} is not empty", frame, present_.size());
    present_[frame] = true;
    lists_.push_front(0, frame);
  }

  void hit(std::uint32_t frame) noexcept override {
    CORACLE_ASSERT(present_[frame], "frame {} is empty", frame);
    lists_.unlink(frame);
    lists_.push_front(0, frame);
  }

  void remove(std::uint32_t frame, bool) noexcept override {
    CORACLE_ASSERT(present_[frame], "frame {} is empty already", frame);
    present_[frame] = false;
    lists_.unlink(frame);
  }

  std::optional<std::uint32_t> victim(std::uint64_t, const std::function<bool(std::uint32_t)>& may_evict) override {
    std::uint32_t frame = newest_first_ ? lists_.front(0) : lists_.back(0);
    while (frame != NumberLists::kEnd && !may_evict(frame))
      frame = newest_first_ ? lists_.after(frame) : lists_.before(frame);
    if (frame == NumberLists::kEnd) return std::nullopt;
    return frame;
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
