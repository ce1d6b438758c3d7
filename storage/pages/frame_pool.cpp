#include "storage/pages/frame_pool.hpp"

#include <algorithm>

#include "runtime/rank/rank.hpp"

namespace coracle::internals::storage {

GuestFrames::GuestFrames(Rank& rank, std::uint32_t frames, std::uint32_t chances)
    : rank_(rank),
      chances_(chances),
      copies_(on() ? frames : 0),
      in_(copies_.size(), kNone),
      lists_(static_cast<std::uint32_t>(copies_.size()), 2) {}

std::uint64_t GuestFrames::now_ns() const noexcept {
  return rank_.loop().now_ns();
}

void GuestFrames::enlist(std::uint32_t frame, List list) noexcept {
  if (in_[frame] != kNone) lists_.unlink(frame);
  held_ -= in_[frame] == kHeld ? 1 : 0;
  held_ += list == kHeld ? 1 : 0;
  in_[frame] = list;
  if (list != kNone) lists_.push_front(list, frame);
}

void GuestFrames::placed(std::uint32_t frame) noexcept {
  if (!on()) return;
  copies_[frame].since_ns = now_ns();
  copies_[frame].chances = static_cast<std::uint8_t>(chances_);
}

void GuestFrames::gone(std::uint32_t frame) noexcept {
  if (!on()) return;
  enlist(frame, kNone);
  copies_[frame] = {};
}

void GuestFrames::used(std::uint32_t frame) noexcept {
  if (!on()) return;
  enlist(frame, kNone);
  copies_[frame].guest = false;
  placed(frame);
}

void GuestFrames::make_guest(std::uint32_t frame, std::uint8_t chances) noexcept {
  copies_[frame].guest = true;
  copies_[frame].chances = chances;
  enlist(frame, kGuests);
}

void GuestFrames::hold(std::uint32_t frame) noexcept {
  enlist(frame, kHeld);
  copies_[frame].since_ns = now_ns();
}

FramePool::FramePool(const Frames& frames, EvictionKind kind, GuestFrames guests, CacheTasks& tasks)
    : frames_(frames),
      tasks_(tasks),
      guests_(std::move(guests)),
      frame_states_(frames.shape().frames),
      eviction_kind_(kind),
      eviction_(make_eviction(kind, frames.shape().frames)) {
  free_.reserve(size());
  for (std::uint32_t frame = size(); frame > 0; --frame) free_.push_back(frame - 1);
}

void FramePool::advise(EvictionKind kind) {
  if (kind == eviction_kind_) return;
  eviction_kind_ = kind;
  eviction_ = make_eviction(kind, size());
  for (std::uint32_t frame = 0; frame < size(); ++frame)
    if (frame_states_[frame].placed) eviction_->insert(frame, frame_states_[frame].number);
}

// --- pages come and go ---

std::uint32_t FramePool::take(std::uint64_t incoming) {
  for (std::size_t tries = 0; free_.empty(); ++tries) {
    std::optional<std::uint32_t> victim = clean_victim(incoming);
    const std::uint32_t goes = victim ? *victim : oldest_held();
    if (goes == Frames::kNone || tries == 2 * frame_states_.size()) return Frames::kNone;
    evict(goes);  // without a free frame then: a pin that is about to fail, and the frame comes later
  }
  const std::uint32_t frame = free_.back();
  free_.pop_back();
  return frame;
}

void FramePool::give_back(std::uint32_t frame) {
  free_.push_back(frame);
  tasks_.notify();
}

void FramePool::place(std::uint64_t page, std::uint32_t frame) {
  FrameState& frame_state = frame_states_[frame];
  auto& insertions = frames_.shared().insertions;
  frame_state.page = CachePage();
  frame_state.number = page;
  frame_state.placed = true;
  frame_state.inserted_at = insertions.load(std::memory_order_relaxed);
  insertions.store(std::max(frame_state.inserted_at + 1, 1U), std::memory_order_relaxed);
  frames_.head(frame).take_used_at();
  frames_.head(frame).set_page(page);
  frames_.place(page, frame);
  eviction_->insert(frame, page);
  guests_.placed(frame);
}

void FramePool::retire(std::uint32_t frame, bool evicted, bool reusable) {
  FrameState& frame_state = frame_states_[frame];
  frames_.head(frame).allow(false, false);
  frames_.place(frame_state.number, Frames::kNone);
  frame_state.placed = false;
  eviction_->remove(frame, evicted);
  guests_.gone(frame);
  frame_state.waiters.wake_all();
  if (!reusable)
    ++unusable_;
  else if (frames_.head(frame).pinned())
    tasks_.spawn(retire_when_unpinned(frame));
  else
    give_back(frame);
}

Task<> FramePool::retire_when_unpinned(std::uint32_t frame) {
  co_await wait_unpinned(frame, Others::and_own);
  give_back(frame);
}

// --- which go ---

bool FramePool::is_clean(std::uint32_t frame) const noexcept {
  const FrameState& frame_state = frame_states_[frame];
  return frame_state.placed && frame_state.page.state() == PageState::S && frame_state.waiters.empty();
}

bool FramePool::take_use(std::uint32_t frame) noexcept {
  const std::uint32_t used_at = frames_.head(frame).take_used_at();
  if (used_at == 0) return false;
  const bool was_guest = guests_.guest(frame);
  guests_.used(frame);
  // Uses soon after a page's coming are those of one scan, for policies that tell scans from the rest.
  const std::size_t correlated = eviction_kind_ == EvictionKind::arc ? frame_states_.size() / 20 : 0;
  const bool counts = eviction_kind_ != EvictionKind::mru && used_at - frame_states_[frame].inserted_at > correlated;
  if (counts) eviction_->hit(frame);
  return counts || was_guest;
}

std::optional<std::uint32_t> FramePool::unused_victim(std::uint64_t incoming,
                                                      const std::function<bool(std::uint32_t)>& may_go) {
  for (std::size_t tries = 0; tries < 2 * frame_states_.size(); ++tries) {
    const std::optional<std::uint32_t> victim = eviction_->victim(incoming, may_go);
    if (!victim || !take_use(*victim)) return victim;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> FramePool::clean_victim(std::uint64_t incoming) {
  if (const std::optional<std::uint32_t> guest = oldest_guest()) return guest;
  return unused_victim(incoming, [this](std::uint32_t frame) { return may_go(frame) && !guests_.held(frame); });
}

std::optional<std::uint32_t> FramePool::own_victim(std::uint64_t incoming) {
  constexpr std::size_t kLooks = 64;  // among guests, and pages that can't go
  std::size_t looks = 0;
  const auto own = [this](std::uint32_t frame) {
    return may_go(frame) && !guests_.held(frame) && !guests_.guest(frame);
  };
  const auto own_or_enough = [&](std::uint32_t frame) { return own(frame) || ++looks > kLooks; };
  const std::optional<std::uint32_t> victim = unused_victim(incoming, own_or_enough);
  return victim && own(*victim) ? victim : std::nullopt;
}

/// The one that came, or was sent to a peer, the longest ago, and may go.
std::optional<std::uint32_t> FramePool::oldest_guest() noexcept {
  for (std::uint32_t frame = guests_.oldest(GuestFrames::kGuests); frame != NumberLists::kEnd;) {
    const std::uint32_t newer = guests_.newer(frame);
    if (may_go(frame) && !take_use(frame)) return frame;
    frame = newer;
  }
  return std::nullopt;
}

/// Where all else fails.
std::uint32_t FramePool::oldest_held() const noexcept {
  std::uint32_t frame = guests_.oldest(GuestFrames::kHeld);
  while (frame != NumberLists::kEnd && !may_go(frame)) frame = guests_.newer(frame);
  return frame == NumberLists::kEnd ? Frames::kNone : frame;
}

bool FramePool::evict(std::uint32_t frame) {
  FrameDescriptor& head = frames_.head(frame);
  head.allow(false, false);
  if (pinned(frame, Others::all)) {
    head.allow(true, false);
    return false;
  }
  const bool counts = !guests_.guest(frame);  // a guest says nothing about what is used here
  const CacheActions actions = frame_states_[frame].page.on_cache_request(CacheRequest::evict, 0);
  CORACLE_ASSERT(actions.count == 1 && actions.begin()->kind == CacheAction::Kind::dropped,
                 "a page that was to go is dirty");
  retire(frame, counts);
  CacheCounters::add(frames_.counters().evictions);
  return true;
}

// --- pins ---

void FramePool::pin_own(std::uint32_t frame) noexcept {
  ++frame_states_[frame].own_pins;
  frames_.head(frame).pin(false);
}

void FramePool::unpin_own(std::uint32_t frame) noexcept {
  --frame_states_[frame].own_pins;
  frames_.head(frame).unpin(false);
}

/// By others than the controller itself, which may be sending the page; or not for writing; or by the controller
/// neither.
bool FramePool::pinned(std::uint32_t frame, Others others) const noexcept {
  const FrameDescriptor& head = frames_.head(frame);
  if (head.writers() > 0) return true;
  if (others == Others::writers) return false;
  return head.readers() > (others == Others::and_own ? 0 : frame_states_[frame].own_pins);
}

Task<> FramePool::wait_unpinned(std::uint32_t frame, Others others) {
  if (!pinned(frame, others)) co_return;
  const UnpinsWanted wanted(frames_);
  while (!tasks_.stopped() && pinned(frame, others)) co_await tasks_.changed();
}

}  // namespace coracle::internals::storage
