#include "storage/pages/cache_controller.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/io.hpp"
#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"
#include "storage/pages/read_ahead.hpp"
#include "storage/pages/segment_table.hpp"

namespace coracle::internals::storage {

CacheController::CacheController(SegmentCaches caches, const PagedOptions& options, Memory memory,
                                 std::unique_ptr<PageStore> store)
    : caches_(std::move(caches)),
      rank_(caches_.rank()),
      path_(options.path),
      frames_(caches_.frames()),
      memory_(std::move(memory)),
      frame_states_(frames_.shape().frames),
      eviction_kind_(options.eviction),
      eviction_(make_eviction(options.eviction, frames_.shape().frames)),
      ahead_max_(std::max(1U, read_ahead_pages(options.read_ahead_pages, frames_.shape()) / 2)),
      homes_touched_(caches_.map().homes),
      dirty_max_(std::max<std::size_t>(1, static_cast<std::size_t>(options.dirty_share * frames_.shape().frames))),
      refusing_(caches_.map().homes) {
  if (store != nullptr) {
    store->observe(this);
    if (!options.model) kept_for_io_ = rank_.loop().io().keep_memory(memory_.frames, frames_.memory_bytes());
  }
  PageHome::Cache& for_home = *this;
  LastCopies::Cache& for_last_copies = *this;
  if (store != nullptr)
    home_ = std::make_unique<PageHome>(caches_, for_home, own_messages_, std::move(store), options.cooperative);
  if (options.chances > 0 && options.cooperative && caches_.nodes() > 1)
    last_copies_ = std::make_unique<LastCopies>(caches_, for_last_copies, home_.get(), options.chances, receive_hint);
  free_.reserve(frames_.shape().frames);
  for (std::uint32_t frame = frames_.shape().frames; frame > 0; --frame) free_.push_back(frame - 1);
}

CacheController::~CacheController() {
  forget_memory();
  if (!closed_) rank_.local<SegmentTable>().abandon(std::move(memory_.slab));
}

void CacheController::start() {
  rank_.service().spawn(watch_losses(rank_, weak_from_this()));
}

// --- tasks of its own ---

Task<> CacheController::run(std::shared_ptr<CacheController> self, Task<> task) {
  co_await task;
  --self->under_way_;
  self->notify();
}

void CacheController::spawn(Task<> task) {
  ++under_way_;
  rank_.service().spawn(run(shared_from_this(), std::move(task)));
}

void CacheController::notify() noexcept {
  changed_.set();
  changed_.reset();
}

// --- coherence messages ---

void CacheController::post(CacheId to, CoherenceMessage coherence_message) {
  coherence_message.from = caches_.own();
  if (to == caches_.own()) {
    own_messages_.add(coherence_message);
    return;
  }
  if (stopped_) return;
  spawn(send_message(caches_.peer(to).rank, coherence_message));
}

void CacheController::post(CacheId to, CoherenceMessage coherence_message, PageBuffers::Buffer page) {
  if (stopped_) return;
  coherence_message.from = caches_.own();
  spawn(send_message_and_page(caches_.peer(to).rank, coherence_message, std::move(page)));
}

Task<> CacheController::send_message_and_page(std::uint32_t to, CoherenceMessage coherence_message,
                                              PageBuffers::Buffer page) {
  co_await send_message(to, coherence_message, std::span(page.data(), frames_.shape().page_bytes));
}

Task<> CacheController::send_message(std::uint32_t to, CoherenceMessage coherence_message,
                                     std::span<const std::byte> page) {
  const CoherenceMessage::Words words = coherence_message.words(caches_.segment());
  try {
    co_await rank_.request(to, receive_message, page, words.kind, coherence_message.page, words.frame, words.numbers,
                           coherence_message.from);
  } catch (const Error&) {
    // The peer is lost, which lost() is told of, or this rank ends.
  }
}

void CacheController::deliver() {
  own_messages_.deliver([this](const CoherenceMessage& coherence_message) { receive(coherence_message); });
}

void CacheController::receive_message(Rank& rank, const Message& message) {
  CacheController* controller = rank.local<SegmentTable>().find(CoherenceMessage::segment_of(message));
  if (controller == nullptr) return answer_for_closed(rank, message);
  controller->receive(CoherenceMessage::of(message), message.payload());
  controller->deliver();
}

namespace {

Task<> send_answer(Rank& rank, std::uint32_t to, Handler handler, std::uint32_t segment,
                   CoherenceMessage coherence_message) {
  const CoherenceMessage::Words words = coherence_message.words(segment);
  co_await rank.request(to, handler, {}, words.kind, coherence_message.page, words.frame, words.numbers,
                        coherence_message.from);
}

/// A closed home fails what it is asked; a closed cache has no pages. Nothing where it need not say anything.
std::optional<PageMessage> answer_of_closed(const PageMessage& asked) {
  PageMessage answer;
  switch (asked.verb) {
    case Verb::read:
    case Verb::write:
    case Verb::put:
      answer.verb = asked.verb == Verb::put ? Verb::put_ack : Verb::failed;
      answer.number = asked.number;
      answer.keep = asked.keep;
      answer.failure = PageFailure::closed;
      return answer;
    default:
      break;
  }
  CachePage unknown;
  if (is_for_home(asked.verb) || !unknown.expects(asked)) return std::nullopt;
  const CacheActions actions = unknown.on_message(asked);
  if (actions.count == 0) return std::nullopt;
  return actions.begin()->message;
}

}  // namespace

/// So that a peer that goes on, after an error here that it has not heard of, does not wait for ever.
void CacheController::answer_for_closed(Rank& rank, const Message& message) {
  const std::uint32_t segment = CoherenceMessage::segment_of(message);
  const std::optional<std::uint32_t> own = rank.local<SegmentTable>().own_in_closed(segment);
  CoherenceMessage coherence_message = CoherenceMessage::of(message);
  const std::optional<PageMessage> answer = answer_of_closed(coherence_message.message);
  if (!own || !answer) return;
  coherence_message.message = *answer;
  coherence_message.from = *own;
  rank.service().spawn(send_answer(rank, message.source(), receive_message, segment, coherence_message));
}

void CacheController::receive(const CoherenceMessage& coherence_message, std::span<const std::byte> page) {
  if (is_for_home(coherence_message.message.verb)) {
    if (home_ != nullptr) home_->receive(coherence_message);
    return;
  }
  const std::uint32_t frame = frames_.find(coherence_message.page);
  if (frame == Frames::kNone) return receive_for_unknown_page(coherence_message);
  FrameState& frame_state = frame_states_[frame];
  if (coherence_message.message.failure == PageFailure::closed) {
    const bool data_may_come = coherence_message.message.verb == Verb::failed && coherence_message.message.keep;
    give_up_page(frame, error_of(coherence_message.page, PageFailure::closed), data_may_come);
    return;
  }
  if (coherence_message.message.verb == Verb::data) {
    if (!frame_state.page.wants(coherence_message.message)) return;
    if (page.size() == frames_.shape().page_bytes) std::memcpy(frames_.bytes_of(frame), page.data(), page.size());
    CacheCounters& counters = frames_.counters();
    if (!coherence_message.from_ssd) CacheCounters::add(counters.from_peers);
    if (last_copies_ != nullptr && !coherence_message.from_ssd && frame_state.page.state() == PageState::IS)
      last_copies_->came_from_peer(frame);
  }
  if (coherence_message.message.verb == Verb::forward_shared ||
      coherence_message.message.verb == Verb::forward_exclusive)
    forward_frame_ = coherence_message.frame;
  const CacheActions actions = frame_state.page.on_message(coherence_message.message);
  note_given_away(frame, coherence_message.message);
  if (last_copies_ != nullptr && coherence_message.message.verb == Verb::forward_shared)
    last_copies_->sent_to_peer(frame);
  perform(frame, actions);
  if (frame_states_[frame].placed && frame_states_[frame].number == coherence_message.page) serve_waiting(frame);
  // Not before those who waited to write have it pinned, or it would be cleaned under their hands for ever.
  if (dirty_count_ > dirty_max_ - dirty_max_ / 4) write_behind(dirty_max_ / 2, Told::nobody);
}

/// A page that is not here, or not any more: the machine answers as one in state I does.
void CacheController::receive_for_unknown_page(const CoherenceMessage& coherence_message) {
  CachePage unknown;
  if (!unknown.expects(coherence_message.message)) return;
  for (const CacheAction& action : unknown.on_message(coherence_message.message)) {
    CORACLE_ASSERT(action.kind == CacheAction::Kind::send_home, "a cache without a page was to do more than answer");
    const bool leaving = std::find(leaving_.begin(), leaving_.end(), coherence_message.page) != leaving_.end();
    if (leaving)
      spawn(answer_when_left(coherence_message.page, action.message));
    else
      send_home(coherence_message.page, action.message, 0);
  }
}

Task<> CacheController::answer_when_left(std::uint64_t page, PageMessage message) {
  while (!stopped_ && std::find(leaving_.begin(), leaving_.end(), page) != leaving_.end())
    co_await uninterrupted(changed_);
  send_home(page, message, 0);
  deliver();
}

// --- hints ---

void CacheController::recall(CacheId node, std::uint64_t page) {
  if (node != caches_.own()) {
    spawn(send_recall(caches_.peer(node).rank, page));
    return;
  }
  recalled(page);
}

Task<> CacheController::send_recall(std::uint32_t to, std::uint64_t page) {
  try {
    co_await rank_.request(to, receive_recall, {}, caches_.segment(), page);
  } catch (const Error&) {
    // As for coherence messages.
  }
}

void CacheController::receive_recall(Rank& rank, const Message& message) {
  CacheController* controller = rank.local<SegmentTable>().find(static_cast<std::uint32_t>(message.argument(0)));
  if (controller == nullptr) return;
  controller->recalled(message.argument(1));
}

void CacheController::recalled(std::uint64_t page) {
  const std::uint32_t frame = frames_.find(page);
  if (frame != Frames::kNone) begin_clean(frame);
  deliver();
}

void CacheController::receive_hint(Rank& rank, const Message& message) {
  if (message.argument_count() != LastCopyHint::kWords) return;
  CacheController* controller = rank.local<SegmentTable>().find(LastCopyHint::segment_of(message.argument(0)));
  if (controller == nullptr || controller->last_copies_ == nullptr) return;
  if (controller->last_copies_->receive(message)) controller->deliver();
}

// --- pages for users ---

Task<std::uint32_t> CacheController::obtain(std::uint64_t page, bool writing, const std::byte* whole) {
  const std::shared_ptr<CacheController> self = shared_from_this();
  if (frames_.shared().wants_unpins.load(std::memory_order_relaxed) != 0) notify();
  for (;;) {
    if (stopped_) throw closed_error();
    std::uint32_t frame = frames_.try_pin(page, writing);
    if (frame != Frames::kNone) {
      if (whole != nullptr) fill(frame, whole);
      co_return frame;
    }
    if (writing && dirty_count_ >= dirty_max_) co_await wait_for_room_for_dirty();
    if (stopped_) throw closed_error();
    if (caches_.home_is_lost(page)) throw home_lost(page);
    frame = frames_.find(page);
    if (last_copies_ != nullptr) frame == Frames::kNone ? last_copies_->missed() : last_copies_->used(frame);
    if (frame == Frames::kNone) {
      frame = take_frame_now(page);
      if (frame == Frames::kNone) frame = co_await take_frame(page);
      if (stopped_ || frames_.find(page) != Frames::kNone || caches_.home_is_lost(page)) {  // meanwhile
        free_frame(frame);
        continue;
      }
      place(page, frame);
    }
    Waiting waiting;
    waiting.writing = writing;
    waiting.whole = whole;
    request(frame, waiting);
    deliver();
    co_await uninterrupted(waiting.done);
    if (waiting.error) throw Error(*waiting.error);
    if (waiting.frame != Frames::kNone) co_return waiting.frame;
  }
}

void CacheController::prefetch(std::uint64_t first, std::uint64_t count) noexcept {
  if (stopped_) return;
  for (std::uint64_t page = first; page < first + count && page < caches_.map().pages; ++page) {
    // The oldest are those that somebody who has turned elsewhere does not need any more.
    if (ahead_wanted_.size() >= std::max<std::size_t>(1, frame_states_.size() / 2)) ahead_wanted_.pop_front();
    ahead_wanted_.push_back(page);
  }
  fetch_wanted();
}

/// As many as may be on their way. The rest follows as these arrive, so that the device always has some to read.
void CacheController::fetch_wanted() noexcept {
  while (!stopped_ && !ahead_wanted_.empty() && ahead_.size() < ahead_max_) {
    const std::uint64_t page = ahead_wanted_.front();
    ahead_wanted_.pop_front();
    if (frames_.find(page) != Frames::kNone || caches_.home_is_lost(page)) continue;
    ahead_.push_back(page);
    CacheCounters::add(frames_.counters().read_ahead);
    spawn(fetch_ahead(page));
  }
}

void CacheController::arrived(const std::byte* target) noexcept {
  const auto offset = static_cast<std::size_t>(target - frames_.bytes_of(0));
  if (target < frames_.bytes_of(0) || offset >= frames_.memory_bytes()) return;
  ahead_arrived(frame_states_[offset / frames_.shape().page_bytes].number);
}

void CacheController::ahead_arrived(std::uint64_t page) noexcept {
  const auto found = std::find(ahead_.begin(), ahead_.end(), page);
  if (found == ahead_.end()) return;
  ahead_.erase(found);
  fetch_wanted();
}

Task<> CacheController::fetch_ahead(std::uint64_t page) {
  try {
    const std::uint32_t frame = co_await obtain(page, false);
    frames_.head(frame).unpin(false);
  } catch (const Error&) {
    // Whoever wants the page will be told.
  }
  ahead_arrived(page);
}

void CacheController::advise(EvictionKind kind) {
  if (kind == eviction_kind_) return;
  eviction_kind_ = kind;
  eviction_ = make_eviction(kind, static_cast<std::uint32_t>(frame_states_.size()));
  for (std::uint32_t frame = 0; frame < frame_states_.size(); ++frame)
    if (frame_states_[frame].placed) eviction_->insert(frame, frame_states_[frame].number);
}

// --- the end ---

Task<> CacheController::quiesce() {
  const std::shared_ptr<CacheController> self = shared_from_this();
  if (last_copies_ != nullptr) last_copies_->end();
  while (under_way_ > 0) co_await uninterrupted(changed_);
}

Task<> CacheController::close() {
  const std::shared_ptr<CacheController> self = shared_from_this();
  stop();
  while (under_way_ > 0) co_await uninterrupted(changed_);
  closed_ = true;
  if (home_ != nullptr) co_await home_->store().close();
  forget_memory();
}

void CacheController::forget_memory() noexcept {
  if (std::exchange(kept_for_io_, false)) rank_.loop().io().forget_memory(memory_.frames);
}

void CacheController::stop() noexcept {
  if (stopped_) return;
  if (home_ != nullptr) home_->refuse_all();
  stopped_ = true;
  for (std::uint32_t frame = 0; frame < frame_states_.size(); ++frame)
    fail_waiting(frame, Error(std::make_error_code(std::errc::operation_canceled), "the paged segment is closed"));
  notify();
}

}  // namespace coracle::internals::storage
