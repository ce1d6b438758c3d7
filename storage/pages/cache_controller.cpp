#include "storage/pages/cache_controller.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/io.hpp"
#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::storage {
namespace {

bool hands_on(const PagedOptions& options, const SegmentCaches& caches) noexcept {
  return options.chances > 0 && options.cooperative && caches.nodes() > 1;
}

std::unique_ptr<PageHome> make_home(const SegmentCaches& caches, const CacheTasks& tasks,
                                    std::unique_ptr<PageStore> store, bool cooperative) {
  return store == nullptr ? nullptr : std::make_unique<PageHome>(caches, tasks, std::move(store), cooperative);
}

}  // namespace

CacheController::CacheController(SegmentCaches caches, const PagedOptions& options, Memory memory,
                                 std::unique_ptr<PageStore> store)
    : caches_(std::move(caches)),
      rank_(caches_.rank()),
      memory_(std::move(memory)),
      tasks_(rank_),
      pool_(caches_.frames(), options.eviction,
            GuestFrames(rank_, caches_.frames().shape().frames, hands_on(options, caches_) ? options.chances : 0),
            tasks_),
      dirty_(pool_.size(), caches_.map().homes,
             std::max<std::size_t>(1, static_cast<std::size_t>(options.dirty_share * pool_.size())), tasks_),
      home_(make_home(caches_, tasks_, std::move(store), options.cooperative)),
      errors_(caches_, options.path, home_.get()),
      sender_(caches_, tasks_, receive_message),
      coherence_(caches_, tasks_, errors_, sender_, pool_, dirty_, home_.get()),
      ahead_(pool_.size() / 2, read_ahead_pages(options.read_ahead_pages, frames().shape()) / 2) {
  if (hands_on(options, caches_)) last_copies_.emplace(caches_, tasks_, pool_, coherence_, home_.get(), receive_hint);
  if (home_ == nullptr) return;
  home_->store().observe(this);
  if (!options.model) kept_for_io_ = rank_.loop().io().keep_memory(memory_.frames, frames().memory_bytes());
}

CacheController::~CacheController() {
  forget_memory();
  if (!closed_) rank_.local<SegmentTable>().abandon(std::move(memory_.slab));
}

void CacheController::start() {
  tasks_.begin(weak_from_this());
  rank_.service().spawn(watch_losses(rank_, weak_from_this()));
}

// --- what peers say ---

void CacheController::receive_message(Rank& rank, const Message& message) {
  const auto& table = rank.local<SegmentTable>();
  const std::uint32_t segment = CoherenceMessage::segment_of(message);
  if (CacheController* controller = table.find(segment))
    controller->coherence_.receive(CoherenceMessage::of(message), message.payload());
  else if (const std::optional<CacheId> own = table.own_in_closed(segment))
    answer_for_closed(rank, message, *own, receive_message);
}

void CacheController::receive_hint(Rank& rank, const Message& message) {
  if (message.argument_count() != LastCopyHint::kWords) return;
  CacheController* controller = rank.local<SegmentTable>().find(LastCopyHint::segment_of(message.argument(0)));
  if (controller != nullptr && controller->last_copies_) controller->last_copies_->receive(message);
}

Task<> CacheController::watch_losses(Rank& rank, std::weak_ptr<CacheController> controller) {
  std::size_t known = 0;
  for (;;) {
    const Result<std::size_t> now = co_await as_result(MoreLost(rank.core(), known));
    const std::shared_ptr<CacheController> self = controller.lock();
    if (!now.ok() || self == nullptr || self->tasks_.stopped()) co_return;
    for (; known < rank.losses().size(); ++known) {
      const std::uint32_t peer = rank.losses()[known].peer;
      for (CacheId node = 0; node < self->caches_.nodes(); ++node)
        if (self->caches_.peer(node).rank == peer) self->coherence_.lost(node);
    }
  }
}

// --- pages for users ---

Task<std::uint32_t> CacheController::obtain(std::uint64_t page, bool writing, const std::byte* whole) {
  const std::shared_ptr<CacheController> self = shared_from_this();
  if (frames().shared().wants_unpins.load(std::memory_order_relaxed) != 0) tasks_.notify();
  for (;;) {
    if (tasks_.stopped()) throw closed_error();
    std::uint32_t frame = frames().try_pin(page, writing);
    if (frame != Frames::kNone) {
      if (whole != nullptr) coherence_.fill(frame, whole);
      co_return frame;
    }
    if (writing && dirty_.full()) co_await wait_for_room_for_dirty();
    if (tasks_.stopped()) throw closed_error();
    if (caches_.home_is_lost(page)) throw errors_.home_lost(page);
    frame = frames().find(page);
    if (frame != Frames::kNone) {
      pool_.guests().used(frame);
    } else {
      if (last_copies_) last_copies_->missed();
      frame = take_frame_now(page);
      if (frame == Frames::kNone) frame = co_await take_frame(page);
      if (tasks_.stopped() || frames().find(page) != Frames::kNone || caches_.home_is_lost(page)) {  // meanwhile
        pool_.give_back(frame);
        continue;
      }
      pool_.place(page, frame);
    }
    PageWaiting waiting;
    waiting.writing = writing;
    waiting.whole = whole;
    coherence_.ask(frame, waiting);
    co_await uninterrupted(waiting.done);
    if (waiting.error) throw Error(*waiting.error);
    if (waiting.frame != Frames::kNone) co_return waiting.frame;
  }
}

/// Without waiting; kNone when none can be had so.
std::uint32_t CacheController::take_frame_now(std::uint64_t page) {
  const std::uint32_t frame = pool_.take(page);
  if (last_copies_) last_copies_->go_ahead(page);
  return frame;
}

Task<std::uint32_t> CacheController::take_frame(std::uint64_t page) {
  constexpr std::size_t kPutsAtOnce = 8;
  const UnpinsWanted wanted(frames());  // before it looks, so that no unpinning is missed
  const std::uint64_t begun = dirty_.begun();
  for (;;) {
    const std::uint32_t frame = take_frame_now(page);
    if (frame != Frames::kNone) co_return frame;
    if (tasks_.stopped()) throw closed_error();
    if (pool_.all_unusable())
      throw Error(Errc::peer_lost, "no frame of the page cache can be used any more: too many homes were lost");
    coherence_.put_oldest(dirty_.count() - std::min(dirty_.count(), kPutsAtOnce), DirtyPages::Told::somebody);
    if (!dirty_.failed_after(begun)) co_await tasks_.changed();
    if (dirty_.failed_after(begun)) throw Error(dirty_.failure());
  }
}

// --- reading ahead ---

void CacheController::prefetch(std::uint64_t first, std::uint64_t count) noexcept {
  if (tasks_.stopped()) return;
  for (std::uint64_t page = first; page < first + count && page < caches_.map().pages; ++page) ahead_.add(page);
  fetch_wanted();
}

/// As many as may be on their way. The rest follows as these arrive, so that the device always has some to read.
void CacheController::fetch_wanted() noexcept {
  const auto is_needed = [this](std::uint64_t page) {
    return frames().find(page) == Frames::kNone && !caches_.home_is_lost(page);
  };
  while (!tasks_.stopped()) {
    const std::optional<std::uint64_t> page = ahead_.next(is_needed);
    if (!page) return;
    CacheCounters::add(frames().counters().read_ahead);
    tasks_.spawn(fetch_ahead(*page));
  }
}

void CacheController::arrived(const std::byte* target) noexcept {
  const auto offset = static_cast<std::size_t>(target - frames().bytes_of(0));
  if (target < frames().bytes_of(0) || offset >= frames().memory_bytes()) return;
  const auto frame = static_cast<std::uint32_t>(offset / frames().shape().page_bytes);
  if (ahead_.arrived(pool_.at(frame).number)) fetch_wanted();
}

Task<> CacheController::fetch_ahead(std::uint64_t page) {
  try {
    const std::uint32_t frame = co_await obtain(page, false);
    frames().head(frame).unpin(false);
  } catch (const Error&) {
    // Whoever wants the page will be told.
  }
  if (ahead_.arrived(page)) fetch_wanted();
}

// --- dirty pages ---

/// A put that began before says nothing of the room that there is now: its failure is not told, the page is tried
/// again.
Task<> CacheController::wait_for_room_for_dirty() {
  const std::uint64_t begun = dirty_.begun();
  while (dirty_.full() && !tasks_.stopped()) {
    coherence_.put_oldest(dirty_.wanted(), DirtyPages::Told::somebody);
    if (dirty_.under_way() == 0) co_return;  // all are pinned by writers, or on their way elsewhere
    co_await tasks_.changed();
    if (dirty_.failed_after(begun)) throw Error(dirty_.failure());
  }
}

Task<> CacheController::clean_all() {
  const std::shared_ptr<CacheController> self = shared_from_this();
  struct Dirty {
    std::uint64_t page;
    std::uint32_t successes;
  };
  std::vector<Dirty> dirty;
  for (std::uint32_t frame = 0; frame < pool_.size(); ++frame)
    if (pool_.at(frame).placed && dirty_.dirty(frame))
      dirty.push_back({pool_.at(frame).number, dirty_.successes(frame)});
  const std::uint64_t begun = dirty_.begun();  // as in wait_for_room_for_dirty()
  {
    const UnpinsWanted wanted(pool_.frames());  // writers' pins are waited for
    while (!dirty.empty() && !dirty_.failed_after(begun) && !tasks_.stopped()) {
      std::erase_if(dirty, [this](const Dirty& each) {
        const std::uint32_t frame = pool_.frames().find(each.page);
        return frame == Frames::kNone || !dirty_.dirty(frame) || dirty_.successes(frame) != each.successes;
      });
      for (const Dirty& each : dirty) {
        if (!dirty_.may_begin()) break;
        coherence_.begin_put(pool_.frames().find(each.page));
      }
      coherence_.hear_home();
      if (!dirty.empty() && !dirty_.failed_after(begun)) co_await tasks_.changed();
    }
    co_await dirty_.ended();
  }
  if (tasks_.stopped()) throw closed_error();
  if (dirty_.failed_after(begun)) throw Error(dirty_.failure());
  if (const std::optional<Error> lost = std::exchange(dirty_.unflushed().lost, std::nullopt)) throw Error(*lost);
}

void CacheController::recall(std::uint64_t page) {
  const std::uint32_t frame = pool_.frames().find(page);
  if (frame != Frames::kNone) coherence_.begin_put(frame);
  coherence_.hear_home();
}

// --- the end ---

Task<> CacheController::quiesce() {
  const std::shared_ptr<CacheController> self = shared_from_this();
  if (last_copies_) last_copies_->end();
  co_await tasks_.ended();
}

Task<> CacheController::close() {
  const std::shared_ptr<CacheController> self = shared_from_this();
  stop();
  co_await tasks_.ended();
  closed_ = true;
  if (home_ != nullptr) co_await home_->store().close();
  forget_memory();
}

void CacheController::forget_memory() noexcept {
  if (std::exchange(kept_for_io_, false)) rank_.loop().io().forget_memory(memory_.frames);
}

void CacheController::stop() noexcept {
  if (!tasks_.stopped()) coherence_.stop();
}

}  // namespace coracle::internals::storage
