// The coherence of one page between caches and the page's home: one writer or many readers. Two pure state machines,
// which say what to do and do nothing themselves: CachePage at each cache, HomePage at the home. No I/O, no waiting, no
// memory of pages. docs/storage.md has the table of states and messages, and the races.
//
// What they need from whoever carries their messages: those from a cache to the home arrive in the order in which they
// were sent, and so do those from the home to a cache; data, which go from cache to cache or from the home's SSD, may
// overtake everything. A node's death is told to the home once, after everything of that node that will ever arrive; a
// message to a dead node may be lost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/core/assert.hpp"

namespace coracle::internals::storage {

/// Of a cache, as its caller counts them; the home may be one of them.
using CacheId = std::uint32_t;
inline constexpr CacheId kNoCache = ~CacheId{0};

/// Stable: I nothing, S clean or the same as the owner's, O dirty and perhaps shared, M dirty and alone. On the way: IS
/// asked to read; IM, SM, OM asked to write with no, a clean, a dirty copy; MIA writing a dirty copy home; IIA the
/// same, but somebody else has become the owner meanwhile.
enum class PageState : std::uint8_t { I, S, O, M, IS, IM, SM, OM, MIA, IIA };
inline constexpr std::size_t kPageStates = 10;
const char* to_string(PageState state) noexcept;

enum class Verb : std::uint8_t {
  read,               ///< Cache to home: a copy, please.
  write,              ///< Cache to home: the only copy, please.
  put,                ///< Cache to home: take my dirty copy and write it to the SSD.
  forward_shared,     ///< Home to cache: send `requester` a copy of yours.
  forward_exclusive,  ///< Home to cache: send `requester` your copy and forget it.
  invalidate,         ///< Home to cache: forget your copy.
  adopt,              ///< Home to cache: the owner has died, own your copy.
  grant,              ///< Home to cache: no other copy is left, write once you have the data.
  put_ack,            ///< Home to cache: your copy was written, or was not needed any more.
  source_lost,        ///< Home to cache: who should have sent you the data has died; say whether you have them.
  failed,             ///< Home to cache: your read or write can't be done.
  data,               ///< Cache or home to cache: the page itself.
  nack,               ///< Cache to home: I have no copy to send or to own; as requester: the data did not come.
  ack,                ///< Cache to home: forgotten; owned.
  done,               ///< Cache to home: I have what I asked for.
};
inline constexpr std::size_t kVerbs = 15;
const char* to_string(Verb verb) noexcept;

/// Why a page can't be had or written.
enum class PageFailure : std::uint8_t {
  none,
  lost,     ///< The only current copy was at a node that died. Writing the whole page ends it.
  damaged,  ///< The SSD's copy does not match its checksum.
  no_space,
  io,
  closed,  ///< The home has closed the segment. Not the protocol's: it ends all that is under way at that home.
};

/// All there is in a message but for the page itself. `number` is the request's, given by the requester and told to
/// whoever has to do with it; `step` is the home's, which counts what it asks of caches: answers and data give it back.
/// So late ones can be told from those that are awaited.
struct PageMessage {
  Verb verb = Verb::read;
  bool has_copy = false;                    ///< write: the requester had a copy when it asked.
  bool whole = false;                       ///< write, invalidate: the whole page will be written, no data are needed.
  bool keep = false;                        ///< put, put_ack: the cache keeps its copy, clean. failed: see on_closed.
  PageFailure failure = PageFailure::none;  ///< failed, put_ack.
  CacheId requester = kNoCache;             ///< forward_*, data.
  std::uint32_t number = 0;
  std::uint32_t step = 0;
};

/// What a cache's user wants of a page. clean: write it home if it is dirty, and keep it.
enum class CacheRequest : std::uint8_t { read, write, write_whole, evict, clean };

/// In the order given; all of it before the next message or request of this page.
struct CacheAction {
  enum class Kind : std::uint8_t {
    send_home,  ///< `message` to the home.
    send_data,  ///< `message` and the page to `to`. The frame is read until it is sent, also when `dropped` follows.
    became_readable,   ///< Readers that wait go on: they must have read, or have pinned it, before the next message.
    became_writable,   ///< Writers that wait go on: likewise.
    lost_write_right,  ///< Readable still.
    lost_copy,         ///< Not readable any more; the frame stays for what is under way.
    dropped,           ///< The frame is free.
    cleaned,           ///< What `clean` wanted: the SSD has it, the copy stays.
    put_failed,        ///< `message.failure`: the copy is dirty as before.
    failed,            ///< `message.failure`: what waits for this page fails; the frame is free.
  };
  Kind kind = Kind::dropped;
  CacheId to = kNoCache;
  PageMessage message;
};
struct CacheActions {
  std::array<CacheAction, 3> list;
  std::size_t count = 0;
  /// Of a request: true when nothing has to be waited for. Otherwise request again after the next message that changed
  /// anything.
  bool ready = false;

  const CacheAction* begin() const noexcept { return list.data(); }
  const CacheAction* end() const noexcept { return list.data() + count; }
  void add(CacheAction::Kind kind, CacheId to = kNoCache, const PageMessage& message = {}) {
    CORACLE_ASSERT(count < list.size(), "more than {} actions", list.size());
    list[count++] = {kind, to, message};
  }
};

/// One page at one cache. The default is a page that is not cached: messages for pages that a cache does not know are
/// answered by a new one, which is forgotten again.
class CachePage {
 public:
  PageState state() const noexcept { return state_; }
  bool readable() const noexcept;
  bool writable() const noexcept { return state_ == PageState::M; }
  /// Whether a message or a put_ack is awaited, so that the frame can't go.
  bool busy() const noexcept { return state_ >= PageState::IS; }
  bool dirty() const noexcept;
  /// Whether the data with this message are awaited; to be asked before they are taken into the frame. Others are late
  /// and thrown away.
  bool wants(const PageMessage& data) const noexcept;
  /// False for what the table of states says can never come.
  bool expects(const PageMessage& message) const noexcept;

  /// `number` is used when the home has to be asked: one that this cache has not given to this page before.
  CacheActions on_cache_request(CacheRequest request, std::uint32_t number);
  CacheActions on_message(const PageMessage& message);

 private:
  friend struct ProtocolProbe;  // of the tests: packs states, and breaks rules to see that it is noticed
  void ask(CacheActions& actions, PageState next, PageMessage message);
  void want_read(CacheActions& actions, std::uint32_t number);
  void want_write(CacheActions& actions, std::uint32_t number, bool whole);
  void want_put(CacheActions& actions, std::uint32_t number, bool keep);
  void forward(CacheActions& actions, const PageMessage& message);
  void forget(CacheActions& actions);
  void adopt(CacheActions& actions, const PageMessage& message);
  void take(CacheActions& actions, const PageMessage& message);
  void write_if_complete(CacheActions& actions);
  void after_put(CacheActions& actions, const PageMessage& message);

  PageState state_ = PageState::I;
  bool has_data_ = false;           ///< IM: they came.
  bool granted_ = false;            ///< IM
  bool whole_ = false;              ///< IM, SM, OM: no data are needed.
  bool keep_ = false;               ///< MIA
  std::uint32_t number_ = 0;        ///< Of what is asked for.
  std::uint32_t refused_step_ = 0;  ///< IS, IM: data of this step or before are late.
};

/// Each in the order given.
struct HomeAction {
  enum class Kind : std::uint8_t {
    send,       ///< `message` to `to`.
    read_ssd,   ///< Read the page, for `to`, then say on_ssd_read().
    send_ssd,   ///< What was read, with `message`, to `to`.
    write_ssd,  ///< Get the page from `to`, which keeps it so long, write it, then say on_ssd_written().
  };
  Kind kind = Kind::send;
  CacheId to = kNoCache;
  PageMessage message;
};
using HomeActions = std::vector<HomeAction>;

/// One page at its home. Requests are transactions, one at a time, in the order of their arrival.
class HomePage {
 public:
  /// cooperative: misses of clean pages are served by caches that have them, before the SSD.
  explicit HomePage(bool cooperative) noexcept : cooperative_(cooperative) {}

  /// Nothing is under way or waiting.
  bool idle() const noexcept { return phase_ == Phase::idle; }
  /// Idle, cached nowhere and on the SSD: as if new.
  bool forgettable() const noexcept { return idle() && owner_ == kNoCache && sharers_.empty() && !lost_ && !orphaned_; }
  bool lost() const noexcept { return lost_; }
  CacheId owner() const noexcept { return owner_; }
  const std::vector<CacheId>& sharers() const noexcept { return sharers_; }
  bool expects(CacheId from, const PageMessage& message) const noexcept;

  /// Appends to `actions`, as the others do.
  void on_message(CacheId from, const PageMessage& message, HomeActions& actions);
  void on_ssd_read(PageFailure failure, HomeActions& actions);
  void on_ssd_written(PageFailure failure, HomeActions& actions);
  /// After this, nothing of that node may come any more.
  void on_dead(CacheId node, HomeActions& actions);
  /// The home goes: whoever waits for it is told that it is closed, in messages with `keep` where data may still come.
  void on_closed(HomeActions& actions);

 private:
  friend struct ProtocolProbe;
  enum class Phase : std::uint8_t { idle, adopting, reading, writing, putting };
  /// Where the requester's data come from. unsure: from a node that died; the requester will say whether they came.
  enum class Supply : std::uint8_t { none, holder, ssd, ssd_sent, unsure, impossible };
  struct Request {
    CacheId from = kNoCache;
    PageMessage message;
  };
  CacheId requester() const noexcept { return current_.from; }
  static void send(HomeActions& actions, CacheId to, const PageMessage& message);
  PageMessage about_request(Verb verb) const noexcept;
  void fail(HomeActions& actions, PageFailure failure);

  void start_next(HomeActions& actions);
  void begin(HomeActions& actions);
  void finish() noexcept;
  void adopt_next(HomeActions& actions);
  void begin_read(HomeActions& actions);
  void supply_read(HomeActions& actions);
  void begin_write(HomeActions& actions);
  void advance_write(HomeActions& actions);
  void begin_put(HomeActions& actions);
  void from_ssd(HomeActions& actions);

  void on_nack(CacheId from, const PageMessage& message, HomeActions& actions);
  void on_ack(CacheId from, HomeActions& actions);
  void on_done(CacheId from);
  void on_requester_dead(HomeActions& actions);
  void on_source_dead(CacheId node, HomeActions& actions);
  bool remove_sharer(CacheId node) noexcept;

  CacheId owner_ = kNoCache;
  std::vector<CacheId> sharers_;  ///< A stack: the newest is asked first.
  std::vector<Request> waiting_;
  Request current_;
  std::vector<CacheId> awaited_;  ///< Writing: whose acks are still to come.
  CacheId source_ = kNoCache;     ///< Supply::holder, or who is asked to adopt.
  std::uint32_t step_ = 0;
  Phase phase_ = Phase::idle;
  Supply supply_ = Supply::none;
  PageFailure failure_ = PageFailure::none;  ///< Supply::impossible
  bool cooperative_;
  bool granted_ = false;         ///< Writing: the requester may be writing.
  bool requester_dead_ = false;  ///< The transaction goes on until nothing of it is left.
  bool ssd_current_ = true;      ///< Writing: the SSD had the newest content before.
  bool orphaned_ = false;        ///< The owner died; sharers may have its content.
  bool lost_ = false;
};

}  // namespace coracle::internals::storage
