// Adaptive replacement, the two kinds by recency alone, and the choice.
#include "storage/eviction/eviction.hpp"

#include <algorithm>
#include <vector>

#include "runtime/core/assert.hpp"
#include "storage/eviction/eviction_kind.hpp"
#include "storage/eviction/eviction_lists.hpp"

namespace coracle::internals::storage {

ArcEviction::ArcEviction(std::uint32_t capacity)
    : capacity_(capacity), lists_(capacity, 2), entries_(capacity), ghosts_(2 * capacity) {}

ArcEviction::Sizes ArcEviction::sizes() const noexcept {
  return {sizes_[kOnce], sizes_[kOften], ghosts_.size(kOnce), ghosts_.size(kOften), once_wanted_};
}

void ArcEviction::place(std::uint32_t frame, List list) noexcept {
  lists_.push_front(list, frame);
  entries_[frame].list = list;
  ++sizes_[list];
}

void ArcEviction::take_out(std::uint32_t frame) noexcept {
  lists_.unlink(frame);
  --sizes_[entries_[frame].list];
  entries_[frame].list = kNowhere;
}

/// The wanted size of T1 once a ghost of that list (or none) has come back: the rarer such ghosts are, the more it
/// says.
double ArcEviction::wanted_after(std::uint32_t ghost_list) const noexcept {
  const double once = ghosts_.size(kOnce);
  const double often = ghosts_.size(kOften);
  if (ghost_list == kOnce) return std::min<double>(capacity_, once_wanted_ + std::max(1.0, often / once));
  if (ghost_list == kOften) return std::max(0.0, once_wanted_ - std::max(1.0, once / often));
  return once_wanted_;
}

void ArcEviction::insert(std::uint32_t frame, std::uint64_t page) {
  CORACLE_ASSERT(frame < capacity_ && entries_[frame].list == kNowhere, "frame {} of {} is not empty", frame,
                 capacity_);
  const std::uint32_t ghost_list = ghosts_.list_of(page);
  once_wanted_ = wanted_after(ghost_list);
  if (ghost_list != Ghosts::kNone) ghosts_.remove(page);
  entries_[frame].page = page;
  entries_[frame].inserted = ++insertions_;
  place(frame, ghost_list == Ghosts::kNone ? kOnce : kOften);
  forget_oldest();
}

void ArcEviction::forget_oldest() noexcept {
  if (sizes_[kOnce] + ghosts_.size(kOnce) > capacity_) ghosts_.remove_oldest(kOnce);
  const std::uint32_t all = sizes_[kOnce] + sizes_[kOften] + ghosts_.size(kOnce) + ghosts_.size(kOften);
  // T1 and B1 are within the capacity, so that T2 and B2 are above it, and T2 alone can't be.
  if (all > 2 * capacity_) ghosts_.remove_oldest(kOften);
}

void ArcEviction::hit(std::uint32_t frame) noexcept {
  const Entry& used = entries_[frame];
  CORACLE_ASSERT(used.list != kNowhere, "frame {} is empty", frame);
  if (used.list == kOnce && insertions_ - used.inserted <= capacity_ / 20) return;
  take_out(frame);
  place(frame, kOften);
}

void ArcEviction::remove(std::uint32_t frame, bool evicted) noexcept {
  const List list = entries_[frame].list;
  CORACLE_ASSERT(list != kNowhere, "frame {} is empty already", frame);
  take_out(frame);
  if (evicted) ghosts_.add(list, entries_[frame].page);
}

std::uint32_t ArcEviction::oldest_in(List list, const std::function<bool(std::uint32_t)>& may_evict) const {
  std::uint32_t frame = lists_.back(list);
  while (frame != NumberLists::kEnd && !may_evict(frame)) frame = lists_.before(frame);
  return frame;
}

std::optional<std::uint32_t> ArcEviction::victim(std::uint64_t incoming,
                                                 const std::function<bool(std::uint32_t)>& may_evict) {
  const std::uint32_t ghost_list = ghosts_.list_of(incoming);
  const double wanted = wanted_after(ghost_list);
  const double once = sizes_[kOnce];
  const List first = once > wanted || (ghost_list == kOften && once == wanted) ? kOnce : kOften;
  std::uint32_t frame = oldest_in(first, may_evict);
  if (frame == NumberLists::kEnd) frame = oldest_in(first == kOnce ? kOften : kOnce, may_evict);
  if (frame == NumberLists::kEnd) return std::nullopt;
  return frame;
}

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
