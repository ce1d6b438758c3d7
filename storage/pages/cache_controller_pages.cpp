// What the actions of the protocol mean for the frames of a cache.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"
#include "storage/pages/cache_controller.hpp"

namespace coracle::internals::storage {

// --- requests ---

void CacheController::request(std::uint32_t frame, Waiting& waiting) {
  Waiting** last = &frame_states_[frame].first;
  while (*last != nullptr) last = &(*last)->next;
  *last = &waiting;
  serve_waiting(frame);
}

/// Gives the page to those who wait for it and may have it now; asks for the rest.
void CacheController::serve_waiting(std::uint32_t frame) {
  FrameState& frame_state = frame_states_[frame];
  for (Waiting** link = &frame_state.first; *link != nullptr;) {
    Waiting& waiting = **link;
    const CacheRequest request = !waiting.writing           ? CacheRequest::read
                                 : waiting.whole != nullptr ? CacheRequest::write_whole
                                                            : CacheRequest::write;
    const bool unknown = frame_state.page.state() == PageState::I;
    const CacheActions actions = frame_state.page.on_cache_request(request, last_number_ + 1);
    if (actions.ready) {
      if (waiting.whole != nullptr) fill(frame, waiting.whole);
      frames_.head(frame).pin(waiting.writing);
      *link = waiting.next;
      waiting.frame = frame;
      waiting.done.set();
      continue;
    }
    if (actions.count > 0) {
      ++last_number_;
      if (unknown) CacheCounters::add(frames_.counters().misses);
      perform(frame, actions);
    }
    link = &waiting.next;
  }
}

void CacheController::fill(std::uint32_t frame, const std::byte* whole) noexcept {
  const std::uint64_t offset = frame_states_[frame].number * frames_.shape().page_bytes;
  std::memcpy(frames_.bytes_of(frame), whole,
              std::min<std::uint64_t>(frames_.shape().page_bytes, caches_.bytes() - offset));
}

/// Before anybody else may see it: a page that was granted without data, to be written as a whole, is still another's
/// in this frame.
void CacheController::fill_for_whole(std::uint32_t frame) noexcept {
  for (Waiting* waiting = frame_states_[frame].first; waiting != nullptr; waiting = waiting->next) {
    if (waiting->whole == nullptr) continue;
    fill(frame, std::exchange(waiting->whole, nullptr));
    return;
  }
}

void CacheController::fail_waiting(std::uint32_t frame, const Error& error, bool also_whole) {
  for (Waiting** link = &frame_states_[frame].first; *link != nullptr;) {
    Waiting& waiting = **link;
    if (waiting.whole != nullptr && !also_whole) {
      link = &waiting.next;
      continue;
    }
    *link = waiting.next;
    waiting.error.emplace(error);
    waiting.done.set();
  }
}

// --- actions ---

void CacheController::perform(std::uint32_t frame, const CacheActions& actions) {
  {
    const OwnMessages::Hold hold(own_messages_);  // all of it before the next coherence message
    for (const CacheAction& action : actions) perform(frame, action);
  }
  count_dirty(frame);
}

void CacheController::perform(std::uint32_t frame, const CacheAction& action) {
  FrameState& frame_state = frame_states_[frame];
  FrameDescriptor& head = frames_.head(frame);
  switch (action.kind) {
    case CacheAction::Kind::send_home:
      if (action.message.verb == Verb::ack)
        send_when_unpinned(frame, action.message);
      else
        send_home(frame_state.number, action.message, frame);
      break;
    case CacheAction::Kind::send_data: {
      pin_own(frame);  // until it is sent
      const bool exclusive = !frame_state.page.readable();
      head.allow(!exclusive, frame_state.page.writable());  // before it is read
      if (exclusive) leaving_.push_back(frame_state.number);
      spawn(send_page(frame, frame_state.number, action.to, forward_frame_, action.message, exclusive));
      break;
    }
    case CacheAction::Kind::became_readable:
      head.allow(true, false);  // and those who wait are served once `done` is on its way: see receive()
      break;
    case CacheAction::Kind::became_writable:
      fill_for_whole(frame);
      head.allow(true, true);
      if (last_copies_ != nullptr) last_copies_->became_only(frame);
      break;
    case CacheAction::Kind::lost_write_right:
      head.allow(true, false);
      break;
    case CacheAction::Kind::lost_copy:
      head.allow(false, false);
      break;
    case CacheAction::Kind::dropped:
      cleaning_ended(frame_state);
      retire(frame, frame_state.page.state() == PageState::I && evicting_);
      break;
    case CacheAction::Kind::cleaned:
      ++frame_state.cleanings;
      refusing_[caches_.home_of(frame_state.number)] = false;
      cleaning_ended(frame_state);
      break;
    case CacheAction::Kind::put_failed:
      latest_failed_put_ = std::max(latest_failed_put_, frame_state.put);
      refusing_[caches_.home_of(frame_state.number)] = true;
      put_failure_.emplace(error_of(frame_state.number, action.message.failure));
      cleaning_ended(frame_state);
      note_dirty_order(frame);
      break;
    case CacheAction::Kind::failed:
      // Who writes the whole of a lost page mends it: he asks again.
      fail_waiting(frame, error_of(frame_state.number, action.message.failure),
                   action.message.failure != PageFailure::lost);
      retire(frame, false);
      break;
  }
}

void CacheController::send_home(std::uint64_t page, const PageMessage& message, std::uint32_t frame) {
  const std::uint32_t home = caches_.home_of(page);
  if (message.verb == Verb::put) homes_touched_[home] = true;
  CoherenceMessage coherence_message;
  coherence_message.message = message;
  coherence_message.page = page;
  coherence_message.frame = frame;
  post(home, coherence_message);
}

/// Others may write once this has arrived: not before the last reader here has let go.
void CacheController::send_when_unpinned(std::uint32_t frame, const PageMessage& message) {
  CacheCounters::add(frames_.counters().invalidations);
  const std::uint64_t page = frame_states_[frame].number;
  if (!frames_.head(frame).pinned()) return send_home(page, message, frame);
  leaving_.push_back(page);
  pin_own(frame);  // so that the frame stays this page's
  spawn(wait_and_send(frame, page, message));
}

void CacheController::left(std::uint64_t page) {
  leaving_.erase(std::find(leaving_.begin(), leaving_.end(), page));
}

Task<> CacheController::wait_and_send(std::uint32_t frame, std::uint64_t page, PageMessage message) {
  co_await wait_unpinned(frame, Others::all);
  unpin_own(frame);
  send_home(page, message, frame);
  left(page);
  notify();
  deliver();
}

/// The frame is pinned for this, and the page is leaving if `exclusive`.
Task<> CacheController::send_page(std::uint32_t frame, std::uint64_t page, CacheId to, std::uint32_t target,
                                  PageMessage message, bool exclusive) {
  co_await wait_unpinned(frame, exclusive ? Others::all : Others::writers);
  CoherenceMessage coherence_message;
  coherence_message.message = message;
  coherence_message.page = page;
  try {
    const std::span<const std::byte> bytes(frames_.bytes_of(frame), frames_.shape().page_bytes);
    if (to != caches_.own() && caches_.goes_with_message(to, target)) {
      coherence_message.from = caches_.own();
      co_await send_message(caches_.peer(to).rank, coherence_message, bytes);
    } else {
      if (to != caches_.own()) co_await rank_.put(bytes, caches_.remote_frame(to, target));
      post(to, coherence_message);
    }
  } catch (const Error&) {
    // The requester is lost; its home hears of that.
  }
  unpin_own(frame);
  if (exclusive) left(page);
  notify();
  deliver();
}

void CacheController::pin_own(std::uint32_t frame) noexcept {
  ++frame_states_[frame].own_pins;
  frames_.head(frame).pin(false);
}

void CacheController::unpin_own(std::uint32_t frame) noexcept {
  --frame_states_[frame].own_pins;
  frames_.head(frame).unpin(false);
}

/// Until nobody but the controller itself has it pinned, or not for writing, or the controller neither.
Task<> CacheController::wait_unpinned(std::uint32_t frame, Others others) {
  const auto pinned = [this, frame, others] {
    const FrameDescriptor& head = frames_.head(frame);
    if (head.writers() > 0) return true;
    if (others == Others::writers) return false;
    return head.readers() > (others == Others::and_own ? 0 : frame_states_[frame].own_pins);
  };
  if (!pinned()) co_return;
  auto& wanted = frames_.shared().wants_unpins;
  wanted.fetch_add(1, std::memory_order_seq_cst);
  while (!stopped_ && pinned()) co_await uninterrupted(changed_);
  wanted.fetch_sub(1, std::memory_order_seq_cst);
}

// --- what is dirty ---

void CacheController::count_dirty(std::uint32_t frame) {
  FrameState& frame_state = frame_states_[frame];
  const bool dirty = frame_state.placed && frame_state.page.dirty();
  if (dirty == frame_state.counted_dirty) return;
  frame_state.counted_dirty = dirty;
  if (!dirty) {
    --dirty_count_;
    return notify();
  }
  ++dirty_count_;
  note_dirty_order(frame);
}

void CacheController::note_dirty_order(std::uint32_t frame) {
  if (std::exchange(frame_states_[frame].in_order, true)) return;
  dirty_order_.push_back(frame);
}

void CacheController::cleaning_ended(FrameState& frame_state) noexcept {
  if (!std::exchange(frame_state.cleaning, false)) return;
  --cleaning_;
  notify();
}

/// A dirty page has gone on to another cache: flush() has to see to it there.
void CacheController::note_given_away(std::uint32_t frame, const PageMessage& message) {
  const FrameState& frame_state = frame_states_[frame];
  const bool goes = message.verb == Verb::forward_exclusive || message.verb == Verb::invalidate;
  if (goes && frame_state.counted_dirty && !frame_state.page.dirty()) given_away_.insert(frame_state.number);
}

// --- errors ---

Error CacheController::closed_error() {
  return {std::make_error_code(std::errc::bad_file_descriptor), "the paged segment is closed"};
}

Error CacheController::error_of(std::uint64_t page, PageFailure failure) const {
  const std::uint32_t home = caches_.home_of(page);
  const std::string where =
      fmt::format("page {} of the paged segment {}.{} (home: rank {})", page, path_, home, caches_.peer(home).rank);
  // Only who has the home knows more.
  const std::string told = home == caches_.own() && home_ != nullptr ? fmt::format(" ({})", home_->last_failure()) : "";
  switch (failure) {
    case PageFailure::lost:
      return {Errc::page_lost,
              fmt::format("{}: lost with the node that had its only current copy; write the whole page "
                          "anew, or open the last checkpoint",
                          where)};
    case PageFailure::damaged:
      return {Errc::page_damaged,
              fmt::format("{}: does not match its checksum; `coracle pages check` tells which do not{}", where, told)};
    case PageFailure::no_space:
      return {std::make_error_code(std::errc::no_space_on_device),
              fmt::format("{}: no space left on its device; the page is still in the cache: make room there and flush "
                          "again{}",
                          where, told)};
    case PageFailure::closed:
      return {std::make_error_code(std::errc::bad_file_descriptor),
              fmt::format("{}: its home has closed the segment, or could not make it", where)};
    default:
      return {std::make_error_code(std::errc::io_error),
              fmt::format("{}: its file can't be read or written{}", where, told)};
  }
}

Error CacheController::home_lost(std::uint64_t page) const {
  const std::uint32_t home = caches_.home_of(page);
  return {Errc::peer_lost, fmt::format("page {} of the paged segment {}.{}: its home, rank {}, is lost", page, path_,
                                       home, caches_.peer(home).rank)};
}

/// Its home is gone.
void CacheController::give_up_page(std::uint32_t frame, const Error& error, bool data_may_come) {
  FrameState& frame_state = frame_states_[frame];
  fail_waiting(frame, error);
  if (frame_state.page.state() == PageState::S) return;      // its readers may go on
  if (frame_state.page.dirty()) lost_dirty_.emplace(error);  // told by the next flush
  cleaning_ended(frame_state);
  frame_state.page = CachePage();
  retire(frame, false, !data_may_come);
  count_dirty(frame);
  notify();
}

Task<> CacheController::watch_losses(Rank& rank, std::weak_ptr<CacheController> controller) {
  std::size_t known = 0;
  for (;;) {
    const Result<std::size_t> now = co_await as_result(MoreLost(rank.core(), known));
    const std::shared_ptr<CacheController> self = controller.lock();
    if (!now.ok() || self == nullptr || self->stopped_) co_return;
    for (; known < rank.losses().size(); ++known) {
      const std::uint32_t peer = rank.losses()[known].peer;
      for (CacheId node = 0; node < self->caches_.nodes(); ++node)
        if (self->caches_.peer(node).rank == peer) self->lost(node);
    }
  }
}

void CacheController::lost(CacheId node) {
  if (home_ != nullptr) home_->dead(node);
  for (std::uint32_t frame = 0; frame < frame_states_.size(); ++frame) {
    const FrameState& frame_state = frame_states_[frame];
    if (!frame_state.placed || caches_.home_of(frame_state.number) != node) continue;
    // It may have told somebody to send data, which may still come: then nothing else may lie in the frame.
    const PageState state = frame_state.page.state();
    give_up_page(frame, home_lost(frame_state.number), state == PageState::IS || state == PageState::IM);
  }
  notify();
  deliver();
}

}  // namespace coracle::internals::storage
