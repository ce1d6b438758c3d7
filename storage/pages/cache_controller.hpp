// CacheController: fills and empties the frames of one cache, and speaks for it in the coherence protocol. It belongs
// to one rank; those that share its memory find cached pages by themselves (PageCache) and come here for the rest.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/segment.hpp"
#include "runtime/job/slab.hpp"
#include "storage/eviction/eviction.hpp"
#include "storage/eviction/eviction_kind.hpp"
#include "storage/options/paged_options.hpp"
#include "storage/pages/frames.hpp"
#include "storage/pages/last_copies.hpp"
#include "storage/pages/page_home.hpp"
#include "storage/pages/segment_caches.hpp"
#include "storage/protocol/coherence_message.hpp"
#include "storage/protocol/own_messages.hpp"
#include "storage/protocol/protocol.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals {
class Message;
class Rank;
}  // namespace coracle::internals

namespace coracle::internals::storage {

/// Used by its rank's thread. Tasks that are under way keep it alive.
class CacheController final : public std::enable_shared_from_this<CacheController>,
                              private ReadObserver,
                              private PageHome::Cache,
                              private LastCopies::Cache {
 public:
  struct Memory {
    Slab<std::byte> slab;
    std::byte* frames = nullptr;  ///< In it, aligned.
  };
  /// `store`: of this cache's home, if it has one.
  CacheController(SegmentCaches caches, const PagedOptions& options, Memory memory, std::unique_ptr<PageStore> store);
  ~CacheController();
  /// Once it is owned by a shared pointer.
  void start();
  CacheController(const CacheController&) = delete;
  CacheController& operator=(const CacheController&) = delete;

  /// A frame with the page, pinned to read or to write. `whole`, unless null: what all of it is to be, which is copied
  /// there instead of being fetched. Throws Error.
  Task<std::uint32_t> obtain(std::uint64_t page, bool writing, const std::byte* whole = nullptr);
  void prefetch(std::uint64_t first, std::uint64_t count) noexcept;
  void advise(EvictionKind kind);
  /// A pin has ended that this may wait for.
  void unpinned() noexcept { notify(); }

  /// All pages that are dirty now are written home and stay as clean ones. Throws the first failure.
  Task<> clean_all();
  /// What was put through this cache before is durable when it returns.
  Task<> flush();
  /// Waits for what is under way.
  Task<> quiesce();
  /// Once all caches are quiet: closes the file.
  Task<> close();
  /// Fails what waits. Nothing is sent any more.
  void stop() noexcept;

  /// Null when this cache has none.
  PageHome* home() noexcept { return home_.get(); }
  const Frames& frames() const noexcept { return frames_; }
  std::shared_ptr<CacheController> alive() noexcept { return shared_from_this(); }

 private:
  /// A coroutine that waits for a page; in its frame.
  struct Waiting {
    bool writing = false;
    const std::byte* whole = nullptr;
    std::uint32_t frame = Frames::kNone;
    std::optional<Error> error;
    Event done;
    Waiting* next = nullptr;
  };
  struct FrameState {
    CachePage page;
    std::uint64_t number = 0;  // of the page in it; only while placed
    Waiting* first = nullptr;
    std::uint32_t inserted_at = 0;  // as CacheShared counts
    std::uint32_t cleanings = 0;    // puts that ended well
    std::uint64_t put = 0;          // number of the latest that began
    bool placed = false;
    bool counted_dirty = false;
    bool cleaning = false;       // its put is under way
    bool in_order = false;       // in dirty_order_
    std::uint32_t own_pins = 0;  // of readers, the controller's own
  };

  // --- for its home ---
  bool stopped() const noexcept override { return stopped_; }
  void spawn(Task<> task) override;
  void post(CacheId to, CoherenceMessage coherence_message) override;
  void post(CacheId to, CoherenceMessage coherence_message, PageBuffers::Buffer page) override;
  void deliver() override;
  void recall(CacheId node, std::uint64_t page) override;

  // --- for its last copies ---
  std::uint64_t page_in(std::uint32_t frame) const noexcept override { return frame_states_[frame].number; }
  std::size_t free_frames() const noexcept override { return free_.size(); }
  bool is_clean(std::uint32_t frame) const noexcept override {
    const FrameState& frame_state = frame_states_[frame];
    return frame_state.placed && frame_state.page.state() == PageState::S && frame_state.first == nullptr;
  }
  bool may_go(std::uint32_t frame) const noexcept override { return is_clean(frame) && !frames_.head(frame).pinned(); }
  bool take_use(std::uint32_t frame) noexcept override;
  std::optional<std::uint32_t> clean_victim(std::uint64_t incoming) override;
  std::optional<std::uint32_t> own_victim(std::uint64_t incoming) override;
  bool evict(std::uint32_t frame) override;
  std::uint32_t place_in_free(std::uint64_t page) override;
  Task<bool> fetch_guest(std::uint32_t frame) override;

  static void receive_message(Rank& rank, const Message& message);
  static void receive_hint(Rank& rank, const Message& message);
  static void receive_recall(Rank& rank, const Message& message);
  /// `page`: what goes with it; it must live until then.
  Task<> send_message(std::uint32_t to, CoherenceMessage coherence_message, std::span<const std::byte> page = {});
  Task<> send_message_and_page(std::uint32_t to, CoherenceMessage coherence_message, PageBuffers::Buffer page);
  Task<> send_recall(std::uint32_t to, std::uint64_t page);
  static Task<> run(std::shared_ptr<CacheController> self, Task<> task);
  /// `page`: what came with it, if anything did.
  void receive(const CoherenceMessage& coherence_message, std::span<const std::byte> page = {});
  void receive_for_unknown_page(const CoherenceMessage& coherence_message);
  static void answer_for_closed(Rank& rank, const Message& message);
  Task<> answer_when_left(std::uint64_t page, PageMessage message);
  void recalled(std::uint64_t page);

  // cache_controller_pages.cpp: what the protocol's actions mean
  void request(std::uint32_t frame, Waiting& waiting);
  void serve_waiting(std::uint32_t frame);
  void perform(std::uint32_t frame, const CacheActions& actions);
  void perform(std::uint32_t frame, const CacheAction& action);
  void send_home(std::uint64_t page, const PageMessage& message, std::uint32_t frame);
  void send_when_unpinned(std::uint32_t frame, const PageMessage& message);
  Task<> wait_and_send(std::uint32_t frame, std::uint64_t page, PageMessage message);
  Task<> send_page(std::uint32_t frame, std::uint64_t page, CacheId to, std::uint32_t target, PageMessage message,
                   bool exclusive);
  /// Which pins are waited for.
  enum class Others { writers, all, and_own };
  Task<> wait_unpinned(std::uint32_t frame, Others others);
  void count_dirty(std::uint32_t frame);
  void note_dirty_order(std::uint32_t frame);
  void pin_own(std::uint32_t frame) noexcept;
  void unpin_own(std::uint32_t frame) noexcept;
  void left(std::uint64_t page);
  static Error closed_error();
  /// The latest; only where put_failed_after() says so.
  Error put_failure() const { return put_failure_ ? *put_failure_ : closed_error(); }
  void cleaning_ended(FrameState& frame_state) noexcept;
  void note_given_away(std::uint32_t frame, const PageMessage& message);
  void notify() noexcept;
  void fill(std::uint32_t frame, const std::byte* whole) noexcept;
  void fail_waiting(std::uint32_t frame, const Error& error, bool also_whole = true);
  void fill_for_whole(std::uint32_t frame) noexcept;
  Error error_of(std::uint64_t page, PageFailure failure) const;
  Error home_lost(std::uint64_t page) const;
  static Task<> watch_losses(Rank& rank, std::weak_ptr<CacheController> controller);
  void lost(CacheId node);
  void give_up_page(std::uint32_t frame, const Error& error, bool data_may_come);

  // cache_controller_frames.cpp: room for pages
  std::uint32_t take_frame_now(std::uint64_t page);
  Task<std::uint32_t> take_frame(std::uint64_t page);
  std::uint32_t evict_clean(std::uint64_t page);
  std::uint32_t take_free() noexcept;
  bool used_by_others(std::uint32_t frame) const noexcept;
  std::optional<std::uint32_t> unused_victim(std::uint64_t incoming, const std::function<bool(std::uint32_t)>& may_go);
  void place(std::uint64_t page, std::uint32_t frame);
  void retire(std::uint32_t frame, bool evicted, bool reusable = true);
  Task<> retire_when_unpinned(std::uint32_t frame);
  void free_frame(std::uint32_t frame);
  /// False when a writer has it pinned or nothing is to be done.
  bool begin_clean(std::uint32_t frame);
  /// Who is told when a put fails.
  enum class Told { nobody, somebody };
  void write_behind(std::size_t dirty_wanted, Told told);
  /// Whether a put has failed that began after so many others.
  bool put_failed_after(std::uint64_t begun) const noexcept { return latest_failed_put_ > begun; }
  Task<> puts_ended();
  Task<> wait_for_room_for_dirty();
  void forget_memory() noexcept;
  void fetch_wanted() noexcept;
  void arrived(const std::byte* target) noexcept override;
  void ahead_arrived(std::uint64_t page) noexcept;
  Task<> fetch_ahead(std::uint64_t page);
  Task<> flush_alone();
  Task<> settle(std::uint64_t page);
  Task<> sync(CacheId home);

  const SegmentCaches caches_;
  Rank& rank_;
  std::string path_;
  const Frames frames_;
  Memory memory_;
  OwnMessages own_messages_;
  std::unique_ptr<PageHome> home_;
  std::vector<FrameState> frame_states_;
  EvictionKind eviction_kind_;
  std::unique_ptr<Eviction> eviction_;
  std::unique_ptr<LastCopies> last_copies_;
  std::vector<std::uint32_t> free_;
  std::deque<std::uint32_t> dirty_order_;   // frames, as they became dirty; some are clean again
  std::deque<std::uint64_t> ahead_wanted_;  // pages to be read ahead,
  std::vector<std::uint64_t> ahead_;        // and those of them that are on their way
  std::size_t ahead_max_;                   // of these
  std::vector<std::uint64_t> leaving_;      // pages whose last pins here end before others may have them
  std::set<std::uint64_t> given_away_;      // dirty pages that went to other caches since the last flush
  std::vector<bool> homes_touched_;         // since the last flush
  std::size_t dirty_count_ = 0;
  std::size_t dirty_max_;
  std::size_t cleaning_ = 0;  // puts under way
  std::size_t under_way_ = 0;
  std::size_t unusable_ = 0;  // frames that data may still come into from who should not send any more
  std::uint32_t last_number_ = 0;
  std::vector<bool> refusing_;        // homes whose latest put failed
  std::optional<Error> put_failure_;  // the latest, for all whom put_failed_after() concerns: it is kept
  std::uint64_t puts_begun_ = 0;
  std::uint64_t latest_failed_put_ = 0;  // of these
  std::optional<Error> lost_dirty_;      // pages that were dirty when their home was lost, until somebody was told
  Event changed_;                        // a frame became free, a put ended, a task ended: set and reset
  std::uint32_t forward_frame_ = 0;      // of the coherence message in hand: where its requester wants the data
  bool kept_for_io_ = false;             // the frames, by the loop's Io
  bool evicting_ = false;
  bool flushing_ = false;
  bool stopped_ = false;
  bool closed_ = false;
};

}  // namespace coracle::internals::storage
