// Room for pages in a cache, and their way to their homes.
#include <algorithm>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/rpc.hpp"
#include "storage/pages/cache_controller.hpp"
#include "storage/pages/segment_table.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::size_t kCleaningMax = 64;
constexpr std::size_t kLooksBehind = 4 * kCleaningMax;  // at pages, for each coherence message

}  // namespace

void CacheController::place(std::uint64_t page, std::uint32_t frame) {
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
  if (last_copies_ != nullptr) last_copies_->placed(frame);
}

void CacheController::free_frame(std::uint32_t frame) {
  free_.push_back(frame);
  notify();
}

/// The page is gone; the frame, if it can be used again, is free once nobody has it pinned any more. Whoever waited for
/// the page asks again.
void CacheController::retire(std::uint32_t frame, bool evicted, bool reusable) {
  FrameState& frame_state = frame_states_[frame];
  frames_.head(frame).allow(false, false);
  frames_.place(frame_state.number, Frames::kNone);
  frame_state.placed = false;
  eviction_->remove(frame, evicted);
  if (last_copies_ != nullptr) last_copies_->gone(frame);
  for (Waiting* waiting = std::exchange(frame_state.first, nullptr); waiting != nullptr;) {
    Waiting* next = waiting->next;
    waiting->done.set();
    waiting = next;
  }
  if (!reusable) {
    ++unusable_;
    return;
  }
  if (frames_.head(frame).pinned())
    spawn(retire_when_unpinned(frame));
  else
    free_frame(frame);
}

Task<> CacheController::retire_when_unpinned(std::uint32_t frame) {
  co_await wait_unpinned(frame, Others::and_own);
  free_frame(frame);
}

bool CacheController::take_use(std::uint32_t frame) noexcept {
  const std::uint32_t used_at = frames_.head(frame).take_used_at();
  if (used_at == 0) return false;
  const bool was_guest = last_copies_ != nullptr && last_copies_->guest(frame);
  if (last_copies_ != nullptr) last_copies_->used(frame);
  // Uses soon after a page's coming are those of one scan, for policies that tell scans from the rest.
  const std::size_t correlated = eviction_kind_ == EvictionKind::arc ? frame_states_.size() / 20 : 0;
  const bool counts = eviction_kind_ != EvictionKind::mru && used_at - frame_states_[frame].inserted_at > correlated;
  if (counts) eviction_->hit(frame);
  return counts || was_guest;
}

std::optional<std::uint32_t> CacheController::unused_victim(std::uint64_t incoming,
                                                            const std::function<bool(std::uint32_t)>& may_go) {
  for (std::size_t tries = 0; tries < 2 * frame_states_.size(); ++tries) {
    const std::optional<std::uint32_t> victim = eviction_->victim(incoming, may_go);
    if (!victim || !take_use(*victim)) return victim;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> CacheController::clean_victim(std::uint64_t incoming) {
  if (last_copies_ == nullptr) return unused_victim(incoming, [this](std::uint32_t frame) { return may_go(frame); });
  if (const std::optional<std::uint32_t> guest = last_copies_->oldest_guest()) return guest;
  return unused_victim(incoming, [this](std::uint32_t frame) { return may_go(frame) && !last_copies_->held(frame); });
}

std::optional<std::uint32_t> CacheController::own_victim(std::uint64_t incoming) {
  constexpr std::size_t kLooks = 64;  // among guests, and pages that can't go
  std::size_t looks = 0;
  const auto own = [this](std::uint32_t frame) {
    return may_go(frame) && !last_copies_->held(frame) && !last_copies_->guest(frame);
  };
  const auto own_or_enough = [&](std::uint32_t frame) { return own(frame) || ++looks > kLooks; };
  const std::optional<std::uint32_t> victim = unused_victim(incoming, own_or_enough);
  return victim && own(*victim) ? victim : std::nullopt;
}

/// Others than the controller itself, which may be sending the page.
bool CacheController::used_by_others(std::uint32_t frame) const noexcept {
  const FrameDescriptor& head = frames_.head(frame);
  return head.writers() > 0 || head.readers() > frame_states_[frame].own_pins;
}

bool CacheController::evict(std::uint32_t frame) {
  FrameDescriptor& head = frames_.head(frame);
  head.allow(false, false);
  if (used_by_others(frame)) {
    head.allow(true, false);
    return false;
  }
  evicting_ = last_copies_ == nullptr || !last_copies_->guest(frame);  // a guest says nothing about what is used here
  perform(frame, frame_states_[frame].page.on_cache_request(CacheRequest::evict, 0));
  evicting_ = false;
  CacheCounters::add(frames_.counters().evictions);
  return true;
}

/// Forgets the clean page that is needed least, and gives its frame; kNone when there is none that can go at once.
std::uint32_t CacheController::evict_clean(std::uint64_t page) {
  for (std::size_t tries = 0; tries < 2 * frame_states_.size(); ++tries) {
    std::optional<std::uint32_t> victim = clean_victim(page);
    if (!victim && last_copies_ != nullptr) victim = last_copies_->oldest_held();
    if (!victim) return Frames::kNone;
    // Without a free frame: a pin that is about to fail, and the frame comes later.
    if (evict(*victim) && !free_.empty()) return take_free();
  }
  return Frames::kNone;
}

std::uint32_t CacheController::take_free() noexcept {
  const std::uint32_t frame = free_.back();
  free_.pop_back();
  return frame;
}

/// Without waiting; kNone when none can be had so.
std::uint32_t CacheController::take_frame_now(std::uint64_t page) {
  const std::uint32_t frame = free_.empty() ? evict_clean(page) : take_free();
  if (last_copies_ != nullptr) last_copies_->go_ahead(page);
  return frame;
}

std::uint32_t CacheController::place_in_free(std::uint64_t page) {
  const std::uint32_t frame = take_free();
  place(page, frame);
  return frame;
}

Task<bool> CacheController::fetch_guest(std::uint32_t frame) {
  Waiting waiting;
  request(frame, waiting);
  deliver();
  co_await uninterrupted(waiting.done);
  const bool came = waiting.frame != Frames::kNone;
  if (came) frames_.head(frame).unpin(false);
  co_return came;
}

Task<std::uint32_t> CacheController::take_frame(std::uint64_t page) {
  auto& wanted = frames_.shared().wants_unpins;
  bool asked = false;
  const std::uint64_t begun = puts_begun_;
  for (;;) {
    const std::uint32_t frame = take_frame_now(page);
    if (frame != Frames::kNone || stopped_) {
      if (asked) wanted.fetch_sub(1, std::memory_order_seq_cst);
      if (frame == Frames::kNone) throw closed_error();
      co_return frame;
    }
    if (!asked) {
      // Look once more with this set, so that no unpinning is missed.
      wanted.fetch_add(1, std::memory_order_seq_cst);
      asked = true;
      continue;
    }
    if (unusable_ == frame_states_.size()) {
      wanted.fetch_sub(1, std::memory_order_seq_cst);
      throw Error(Errc::peer_lost, "no frame of the page cache can be used any more: too many homes were lost");
    }
    write_behind(dirty_count_ - std::min<std::size_t>(dirty_count_, kCleaningMax / 8), Told::somebody);
    deliver();
    if (!put_failed_after(begun)) co_await uninterrupted(changed_);
    if (put_failed_after(begun)) {
      wanted.fetch_sub(1, std::memory_order_seq_cst);
      throw put_failure();
    }
  }
}

// --- dirty pages ---

bool CacheController::begin_clean(std::uint32_t frame) {
  FrameState& frame_state = frame_states_[frame];
  const PageState state = frame_state.page.state();
  if (!frame_state.placed || (state != PageState::O && state != PageState::M)) return false;
  if (caches_.home_is_lost(frame_state.number)) return false;  // and lost() will come to it
  FrameDescriptor& head = frames_.head(frame);
  head.allow(true, false);
  if (head.writers() > 0) {
    head.allow(true, state == PageState::M);
    return false;
  }
  frame_state.cleaning = true;
  frame_state.put = ++puts_begun_;
  ++cleaning_;
  CacheCounters::add(frames_.counters().dirty_evictions);
  perform(frame, frame_state.page.on_cache_request(CacheRequest::clean, ++last_number_));
  return true;
}

/// Begins to write the longest dirty pages home until not more than `dirty_wanted` would be left. Where nobody is told
/// of failures, a home whose device has refused the last page is left alone until a put that somebody waits for has
/// gone well there: every refusal would lead to the next attempt, for ever and at the full speed of a processor.
void CacheController::write_behind(std::size_t dirty_wanted, Told told) {
  const std::size_t most = told == Told::nobody ? kLooksBehind : dirty_order_.size();
  for (std::size_t looks = std::min(dirty_order_.size(), most); looks > 0; --looks) {
    if (cleaning_ >= kCleaningMax || dirty_count_ <= dirty_wanted + cleaning_) return;
    const std::uint32_t frame = dirty_order_.front();
    dirty_order_.pop_front();
    FrameState& frame_state = frame_states_[frame];
    frame_state.in_order = false;
    if (!frame_state.counted_dirty || frame_state.cleaning) continue;
    const bool in_vain = told == Told::nobody && refusing_[caches_.home_of(frame_state.number)];
    if (in_vain || !begin_clean(frame)) note_dirty_order(frame);
  }
}

/// A put that began before says nothing of the room that there is now: its failure is not told, the page is tried
/// again.
Task<> CacheController::wait_for_room_for_dirty() {
  const std::uint64_t begun = puts_begun_;
  while (dirty_count_ >= dirty_max_ && !stopped_) {
    write_behind(dirty_max_ / 2, Told::somebody);
    deliver();
    if (cleaning_ == 0) co_return;  // all are pinned by writers, or on their way elsewhere
    co_await uninterrupted(changed_);
    if (put_failed_after(begun)) throw put_failure();
  }
}

/// Of those that are under way now. Others may begin some all the time: these are not waited for.
Task<> CacheController::puts_ended() {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> puts;
  for (std::uint32_t frame = 0; cleaning_ > 0 && frame < frame_states_.size(); ++frame)
    if (frame_states_[frame].cleaning) puts.emplace_back(frame, frame_states_[frame].put);
  const auto ended = [this](const auto& put) {
    const FrameState& frame_state = frame_states_[put.first];
    return !frame_state.cleaning || frame_state.put != put.second;
  };
  std::erase_if(puts, ended);
  while (!puts.empty() && !stopped_) {
    co_await uninterrupted(changed_);
    std::erase_if(puts, ended);
  }
}

Task<> CacheController::clean_all() {
  const std::shared_ptr<CacheController> self = shared_from_this();
  struct Dirty {
    std::uint64_t page;
    std::uint32_t cleanings;
  };
  std::vector<Dirty> dirty;
  for (const FrameState& frame_state : frame_states_)
    if (frame_state.placed && frame_state.counted_dirty) dirty.push_back({frame_state.number, frame_state.cleanings});
  const std::uint64_t begun = puts_begun_;  // as in wait_for_room_for_dirty()
  auto& wanted = frames_.shared().wants_unpins;
  wanted.fetch_add(1, std::memory_order_seq_cst);  // writers' pins are waited for
  while (!dirty.empty() && !put_failed_after(begun) && !stopped_) {
    std::erase_if(dirty, [this](const Dirty& each) {
      const std::uint32_t frame = frames_.find(each.page);
      return frame == Frames::kNone || !frame_states_[frame].counted_dirty ||
             frame_states_[frame].cleanings != each.cleanings;
    });
    for (const Dirty& each : dirty) {
      if (cleaning_ >= kCleaningMax) break;
      begin_clean(frames_.find(each.page));
    }
    deliver();
    if (!dirty.empty() && !put_failed_after(begun)) co_await uninterrupted(changed_);
  }
  co_await puts_ended();
  wanted.fetch_sub(1, std::memory_order_seq_cst);
  if (stopped_) throw closed_error();
  if (put_failed_after(begun)) throw put_failure();
  if (lost_dirty_) {
    const Error told = *lost_dirty_;
    lost_dirty_.reset();
    throw Error(told);
  }
}

// --- durability ---

/// How a call to a home ended; codes don't travel with what a call throws. In no unnamed namespace: g++ 14 crashes on a
/// call that gives a type of one (see with_scope).
struct HomeOutcome {
  int code;
  bool own;
};

namespace {

using OutcomeAndText = std::pair<HomeOutcome, std::string>;

CacheController* find_controller(Rank& rank, std::uint32_t segment) {
  return rank.local<SegmentTable>().find(segment);
}

Task<OutcomeAndText> outcome_of(Task<> task) {
  const Result<> result = co_await as_result(std::move(task));
  if (result.ok()) co_return OutcomeAndText{};
  const std::error_code code = result.code();
  co_return OutcomeAndText{{code.value(), code.category() == coracle_category()}, result.error().what()};
}

void throw_unless_ok(const OutcomeAndText& outcome) {
  if (outcome.first.code == 0) return;
  throw Error(outcome.first.own ? make_error_code(static_cast<Errc>(outcome.first.code))
                                : std::error_code(outcome.first.code, std::generic_category()),
              outcome.second);
}

Task<OutcomeAndText> settle_there(Rank& rank, std::uint32_t segment, std::uint64_t page) {
  CacheController* controller = find_controller(rank, segment);
  if (controller == nullptr || controller->home() == nullptr) co_return OutcomeAndText{};
  const auto alive = controller->alive();
  co_return co_await outcome_of(controller->home()->settle(page));
}

Task<OutcomeAndText> sync_there(Rank& rank, std::uint32_t segment) {
  CacheController* controller = find_controller(rank, segment);
  if (controller == nullptr || controller->home() == nullptr) co_return OutcomeAndText{};
  const auto alive = controller->alive();
  co_return co_await outcome_of(controller->home()->flush());
}

}  // namespace

Task<> CacheController::settle(std::uint64_t page) {
  const std::uint32_t home = caches_.peer(caches_.home_of(page)).rank;
  throw_unless_ok(co_await rank_.call(home, settle_there, caches_.segment(), page));
}

Task<> CacheController::sync(CacheId home) {
  throw_unless_ok(co_await rank_.call(caches_.peer(home).rank, sync_there, caches_.segment()));
}

Task<> CacheController::flush() {
  const std::shared_ptr<CacheController> self = shared_from_this();
  // One after the other: what an earlier one has taken from the lists is durable only when that one has ended.
  while (flushing_) co_await uninterrupted(changed_);
  flushing_ = true;
  const Result<> result = co_await as_result(flush_alone());
  flushing_ = false;
  notify();
  if (!result.ok()) throw Error(result.error());
}

Task<> CacheController::flush_alone() {
  co_await clean_all();
  const std::set<std::uint64_t> elsewhere = std::exchange(given_away_, {});
  std::vector<bool> homes = std::exchange(homes_touched_, std::vector<bool>(caches_.map().homes));
  std::optional<Error> first;
  // What failed is tried again by the next flush, unless it is gone for good.
  const auto failed = [&first](const Error& error) {
    if (!first) first.emplace(error);
    return error.code() != make_error_code(Errc::page_lost) && error.code() != make_error_code(Errc::peer_lost);
  };
  for (const std::uint64_t page : elsewhere) {
    const Result<> settled = co_await as_result(settle(page));
    if (!settled.ok() && failed(settled.error())) given_away_.insert(page);
    homes[caches_.home_of(page)] = true;
  }
  std::vector<Task<Result<>>> syncs;
  std::vector<CacheId> synced;
  for (CacheId home = 0; home < homes.size(); ++home) {
    if (!homes[home]) continue;
    syncs.push_back(as_result(sync(home)));
    synced.push_back(home);
  }
  const std::vector<Result<>> results = co_await when_all(std::move(syncs));
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i].ok() && failed(results[i].error())) homes_touched_[synced[i]] = true;
  if (first) throw Error(*first);
}

}  // namespace coracle::internals::storage
