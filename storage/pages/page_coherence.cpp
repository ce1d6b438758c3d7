// The cache's side: who waits for pages, messages, and what the cache's machine says.
#include "storage/pages/page_coherence.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::storage {

PageCoherence::PageCoherence(const SegmentCaches& caches, CacheTasks& tasks, const PageErrors& errors,
                             PageSender& sender, FramePool& pool, DirtyPages& dirty, PageHome* home)
    : caches_(caches),
      tasks_(tasks),
      errors_(errors),
      sender_(sender),
      pool_(pool),
      frames_(pool.frames()),
      dirty_(dirty),
      home_(home),
      events_(tasks.events()) {}

// --- who waits ---

void PageCoherence::ask(std::uint32_t frame, PageWaiting& waiting) {
  pool_.at(frame).waiters.add(waiting);
  serve(frame);
  hear_home();
}

/// Gives the page to those who wait for it and may have it now; asks for the rest.
void PageCoherence::serve(std::uint32_t frame) {
  FramePool::FrameState& frame_state = pool_.at(frame);
  frame_state.waiters.serve([&](PageWaiting& waiting) {
    const CacheRequest request = !waiting.writing           ? CacheRequest::read
                                 : waiting.whole != nullptr ? CacheRequest::write_whole
                                                            : CacheRequest::write;
    const bool unknown = frame_state.page.state() == PageState::I;
    const CacheActions actions = frame_state.page.on_cache_request(request, last_number_ + 1);
    if (actions.ready) {
      if (waiting.whole != nullptr) fill(frame, waiting.whole);
      frames_.head(frame).pin(waiting.writing);
      waiting.frame = frame;
    } else if (actions.count > 0) {  // then it is one request
      ++last_number_;
      if (unknown) {
        CacheCounters::add(frames_.counters().misses);
        events_.missed(frame, frame_state.number, frames_.shape().page_bytes,
                       caches_.peer(caches_.home_of(frame_state.number)).rank);
      }
      send_home(frame_state.number, actions.begin()->message, frame);
    }
    return actions.ready;
  });
}

void PageCoherence::fill(std::uint32_t frame, const std::byte* whole) noexcept {
  const std::uint64_t offset = pool_.at(frame).number * frames_.shape().page_bytes;
  std::memcpy(frames_.bytes_of(frame), whole,
              std::min<std::uint64_t>(frames_.shape().page_bytes, caches_.bytes() - offset));
}

bool PageCoherence::begin_put(std::uint32_t frame) {
  FramePool::FrameState& frame_state = pool_.at(frame);
  const PageState state = frame_state.page.state();
  if (!frame_state.placed || (state != PageState::O && state != PageState::M)) return false;
  if (caches_.home_is_lost(frame_state.number)) return false;  // and lost() will come to it
  FrameDescriptor& head = frames_.head(frame);
  head.allow(true, false);
  if (head.writers() > 0) {
    head.allow(true, state == PageState::M);
    return false;
  }
  dirty_.put_begins(frame);
  CacheCounters::add(frames_.counters().dirty_evictions);
  perform(frame, frame_state.page.on_cache_request(CacheRequest::clean, ++last_number_));
  return true;
}

void PageCoherence::put_oldest(std::size_t dirty_wanted, DirtyPages::Told told) {
  dirty_.put_oldest(dirty_wanted, told, [this](std::uint32_t frame) { return begin_put(frame); });
  hear_home();
}

// --- messages ---

void PageCoherence::receive(const CoherenceMessage& coherence_message, std::span<const std::byte> page) {
  if (!is_for_home(coherence_message.message.verb))
    take(coherence_message, page);
  else if (home_ != nullptr)
    perform(coherence_message.page, home_->receive(coherence_message));
  hear_home();
}

void PageCoherence::take(const CoherenceMessage& coherence_message, std::span<const std::byte> page) {
  const std::uint32_t frame = frames_.find(coherence_message.page);
  if (frame == Frames::kNone) return take_for_unknown_page(coherence_message);
  FramePool::FrameState& frame_state = pool_.at(frame);
  const PageMessage& message = coherence_message.message;
  if (message.failure == PageFailure::closed)
    return give_up(frame, errors_.of(coherence_message.page, PageFailure::closed),
                   message.verb == Verb::failed && message.keep);
  if (message.verb == Verb::data) {
    if (!frame_state.page.wants(message)) return;
    if (page.size() == frames_.shape().page_bytes) std::memcpy(frames_.bytes_of(frame), page.data(), page.size());
    if (!coherence_message.from_ssd) CacheCounters::add(frames_.counters().from_peers);
    if (!coherence_message.from_ssd && frame_state.page.state() == PageState::IS) pool_.guests().came_from_peer(frame);
  }
  const CacheActions actions = frame_state.page.on_message(message);
  tell_of_page(frame, coherence_message);
  // A dirty page that goes on to another cache: flush() has to see to it there.
  const bool goes = message.verb == Verb::forward_exclusive || message.verb == Verb::invalidate;
  if (goes && dirty_.dirty(frame) && !frame_state.page.dirty())
    dirty_.unflushed().given_away.insert(coherence_message.page);
  if (message.verb == Verb::forward_shared) pool_.guests().sent_to_peer(frame);
  perform(frame, actions, coherence_message.frame);
  if (frame_state.placed && frame_state.number == coherence_message.page) serve(frame);
  // Not before those who waited to write have it pinned, or it would be cleaned under their hands for ever.
  if (dirty_.many()) put_oldest(dirty_.wanted(), DirtyPages::Told::nobody);
}

void PageCoherence::tell_of_page(std::uint32_t frame, const CoherenceMessage& coherence_message) {
  if (!events_.is_told()) [[likely]]
    return;
  const PageState state = pool_.at(frame).page.state();
  if (state != PageState::S && state != PageState::O && state != PageState::M) return;
  const bool has_come = coherence_message.message.verb == Verb::data;
  const std::uint16_t way = !has_come                    ? CORACLE_PAGE_FRESH
                            : coherence_message.from_ssd ? CORACLE_PAGE_FROM_FILE
                                                         : CORACLE_PAGE_FROM_PEER;
  const bool is_of_cache = coherence_message.from < caches_.nodes();
  events_.came(frame, way, is_of_cache ? caches_.peer(coherence_message.from).rank : CORACLE_NOBODY);
}

/// A page that is not here, or not any more: the machine answers as one in state I does.
void PageCoherence::take_for_unknown_page(const CoherenceMessage& coherence_message) {
  CachePage unknown;
  if (!unknown.expects(coherence_message.message)) return;
  for (const CacheAction& action : unknown.on_message(coherence_message.message)) {
    CORACLE_ASSERT(action.kind == CacheAction::Kind::send_home, "a cache without a page was to do more than answer");
    if (leaving_.contains(coherence_message.page))
      tasks_.spawn(answer_when_left(coherence_message.page, action.message));
    else
      send_home(coherence_message.page, action.message, 0);
  }
}

Task<> PageCoherence::answer_when_left(std::uint64_t page, PageMessage message) {
  while (!tasks_.stopped() && leaving_.contains(page)) co_await tasks_.changed();
  send_home(page, message, 0);
  hear_home();
}

// --- what the machine says ---

void PageCoherence::perform(std::uint32_t frame, const CacheActions& actions, std::uint32_t target) {
  {
    const Deferral deferral(*this);
    for (const CacheAction& action : actions) perform(frame, action, target);
  }
  note_dirty(frame);
}

/// `target`: the frame where a requester wants the data.
void PageCoherence::perform(std::uint32_t frame, const CacheAction& action, std::uint32_t target) {
  FramePool::FrameState& frame_state = pool_.at(frame);
  FrameDescriptor& head = frames_.head(frame);
  switch (action.kind) {
    case CacheAction::Kind::send_home:
      if (action.message.verb == Verb::ack)
        acknowledge(frame, action.message);
      else
        send_home(frame_state.number, action.message, frame);
      break;
    case CacheAction::Kind::send_data: {
      pool_.pin_own(frame);  // until it is sent
      const bool exclusive = !frame_state.page.readable();
      head.allow(!exclusive, frame_state.page.writable());  // before it is read
      if (exclusive) leaving_.insert(frame_state.number);
      CoherenceMessage coherence_message;
      coherence_message.message = action.message;
      coherence_message.page = frame_state.number;
      tasks_.spawn(send_page(frame, target, coherence_message, exclusive));
      break;
    }
    case CacheAction::Kind::became_readable:
      head.allow(true, false);  // and those who wait are served once `done` is on its way: see take()
      break;
    case CacheAction::Kind::became_writable:
      // Before anybody else may see it: a page that was granted without data, to be written as a whole, is still
      // another's in this frame.
      if (const std::byte* whole = frame_state.waiters.take_whole()) fill(frame, whole);
      head.allow(true, true);
      pool_.guests().set_elsewhere(frame, false);
      break;
    case CacheAction::Kind::lost_write_right:
      head.allow(true, false);
      break;
    case CacheAction::Kind::lost_copy:
      head.allow(false, false);
      break;
    case CacheAction::Kind::dropped:
      dirty_.put_ended(frame);
      pool_.retire(frame, false);
      break;
    case CacheAction::Kind::cleaned:
      dirty_.put_succeeded(frame);
      break;
    case CacheAction::Kind::put_failed:
      dirty_.put_failed(frame, errors_.of(frame_state.number, action.message.failure));
      break;
    case CacheAction::Kind::failed:
      // Who writes the whole of a lost page mends it: he asks again.
      frame_state.waiters.fail(errors_.of(frame_state.number, action.message.failure),
                               action.message.failure != PageFailure::lost);
      pool_.retire(frame, false);
      break;
  }
}

void PageCoherence::send_home(std::uint64_t page, const PageMessage& message, std::uint32_t frame) {
  const CacheId home = caches_.home_of(page);
  if (message.verb == Verb::put) dirty_.unflushed().homes[home] = true;
  CoherenceMessage coherence_message;
  coherence_message.message = message;
  coherence_message.page = page;
  coherence_message.from = caches_.own();
  coherence_message.frame = frame;
  if (home != caches_.own())
    sender_.post(home, coherence_message);
  else if (home_ != nullptr)
    perform(page, home_->receive(coherence_message));
}

/// Others may write once this has arrived: not before the last reader here has let go.
void PageCoherence::acknowledge(std::uint32_t frame, const PageMessage& message) {
  CacheCounters::add(frames_.counters().invalidations);
  const std::uint64_t page = pool_.at(frame).number;
  if (!frames_.head(frame).pinned()) return send_home(page, message, frame);
  leaving_.insert(page);
  pool_.pin_own(frame);  // so that the frame stays this page's
  tasks_.spawn(acknowledge_when_unpinned(frame, page, message));
}

Task<> PageCoherence::acknowledge_when_unpinned(std::uint32_t frame, std::uint64_t page, PageMessage message) {
  co_await pool_.wait_unpinned(frame, FramePool::Others::all);
  pool_.unpin_own(frame);
  send_home(page, message, frame);
  leaving_.erase(leaving_.find(page));
  tasks_.notify();
  hear_home();
}

/// The frame is pinned for this, and the page is leaving if `exclusive`.
Task<> PageCoherence::send_page(std::uint32_t frame, std::uint32_t target, CoherenceMessage coherence_message,
                                bool exclusive) {
  co_await pool_.wait_unpinned(frame, exclusive ? FramePool::Others::all : FramePool::Others::writers);
  const CacheId to = coherence_message.message.requester;
  const std::span<const std::byte> bytes(frames_.bytes_of(frame), frames_.shape().page_bytes);
  if (caches_.goes_with_message(to, target)) {
    co_await sender_.send(to, coherence_message, bytes);
  } else {
    const Result<> put = co_await as_result(caches_.rank().put(bytes, caches_.remote_frame(to, target)));
    if (put.ok()) sender_.post(to, coherence_message);  // else the requester is lost; its home hears of that
  }
  pool_.unpin_own(frame);
  if (exclusive) leaving_.erase(leaving_.find(coherence_message.page));
  tasks_.notify();
  hear_home();
}

void PageCoherence::note_dirty(std::uint32_t frame) {
  const FramePool::FrameState& frame_state = pool_.at(frame);
  dirty_.note(frame, frame_state.placed && frame_state.page.dirty(), caches_.home_of(frame_state.number));
}

/// Its home is gone.
void PageCoherence::give_up(std::uint32_t frame, const Error& error, bool data_may_come) {
  FramePool::FrameState& frame_state = pool_.at(frame);
  frame_state.waiters.fail(error);
  events_.came(frame, 0);
  if (frame_state.page.state() == PageState::S) return;                  // its readers may go on
  if (frame_state.page.dirty()) dirty_.unflushed().lost.emplace(error);  // told by the next flush
  dirty_.put_ended(frame);
  frame_state.page = CachePage();
  pool_.retire(frame, false, !data_may_come);
  note_dirty(frame);
  tasks_.notify();
}

void PageCoherence::lost(CacheId node) {
  if (home_ != nullptr) perform_all(home_->dead(node));
  for (std::uint32_t frame = 0; frame < pool_.size(); ++frame) {
    const FramePool::FrameState& frame_state = pool_.at(frame);
    if (!frame_state.placed || caches_.home_of(frame_state.number) != node) continue;
    // It may have told somebody to send data, which may still come: then nothing else may lie in the frame.
    const PageState state = frame_state.page.state();
    give_up(frame, errors_.home_lost(frame_state.number), state == PageState::IS || state == PageState::IM);
  }
  tasks_.notify();
  hear_home();
}

void PageCoherence::stop() {
  if (home_ != nullptr) perform_all(home_->refuse_all());
  tasks_.stop();
  const Error closed(std::make_error_code(std::errc::operation_canceled), "the paged segment is closed");
  for (std::uint32_t frame = 0; frame < pool_.size(); ++frame) pool_.at(frame).waiters.fail(closed);
  tasks_.notify();
}

}  // namespace coracle::internals::storage
