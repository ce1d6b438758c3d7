// When the messages of a sender are wanted, and how many.
#include "runtime/messages/short_offers.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

constexpr std::chrono::milliseconds kLookEvery{1};
/// A receiver that only is slow, as its next receipt shows, is given twice the time before anything is kept for it
/// again: each message is copied once more so, and its senders never wait for it. Not more than this, since a program
/// may send before it receives again and again.
constexpr unsigned kPatienceMax = 32;
/// Of one sender at a time: few enough that others' messages do not wait behind them.
constexpr std::size_t kWantedMax = 16;

/// What keeping it takes.
std::size_t room_of(std::size_t bytes) noexcept {
  constexpr std::size_t kKeptBytes = 256;  // beside its own
  return bytes + kKeptBytes;
}

}  // namespace

void ShortOffers::add(UnexpectedMessage& offer) {
  const std::uint32_t peer = offer.rank();
  Sender& sender = senders_[peer];
  if (sender.waiting.empty()) sender.quiet = 0;
  sender.waiting.emplace(offer.offer().serial, &offer);
  ++waiting_;
  if (!has_moved(peer, sender) && sender.has_stalled) want_some(peer, sender);
  begin_to_watch();
}

void ShortOffers::remove(const UnexpectedMessage& offer) noexcept {
  const auto found = senders_.find(offer.rank());
  if (found == senders_.end()) return;
  Sender& sender = found->second;
  ++sender.received;
  if (sender.waiting.erase(offer.offer().serial) > 0) {
    --waiting_;
    lacks_room_ = false;
    begin_to_watch();
  } else if (sender.wanted.erase(offer.offer().serial) > 0) {
    give_room(offer.bytes());
  }
}

bool ShortOffers::arrive(std::uint32_t peer, std::uint64_t serial, std::span<const std::byte> payload) {
  const auto found = senders_.find(peer);
  if (found == senders_.end()) return false;
  Sender& sender = found->second;
  const auto wanted = sender.wanted.find(serial);
  if (wanted == sender.wanted.end()) return false;
  UnexpectedMessage& message = *wanted->second;
  CORACLE_ASSERT(payload.size() == message.bytes(), "rank {} has offered {} bytes and sends {}", peer, message.bytes(),
                 payload.size());
  message.hold(payload);
  sender.wanted.erase(wanted);
  if (!has_moved(peer, sender) && sender.has_stalled) want_some(peer, sender);
  return true;
}

void ShortOffers::received(std::uint32_t peer, std::size_t bytes) noexcept {
  if (const auto found = senders_.find(peer); found != senders_.end()) ++found->second.received;
  give_room(bytes);
}

void ShortOffers::forget(std::uint32_t peer) noexcept {
  const auto found = senders_.find(peer);
  if (found == senders_.end()) return;
  waiting_ -= found->second.waiting.size();
  std::size_t bytes = 0;
  for (const auto& [serial, message] : found->second.wanted) bytes += room_of(message->bytes());
  senders_.erase(found);
  used_ -= bytes;
  lacks_room_ = false;
  begin_to_watch();
}

void ShortOffers::forget_all() noexcept {
  senders_.clear();
  waiting_ = 0;
}

std::uint64_t ShortOffers::receipts_of(std::uint32_t peer, const Sender& sender) {
  return flow_control_.received_from(peer) + sender.received;  // bytes and messages: it only has to grow
}

bool ShortOffers::has_moved(std::uint32_t peer, Sender& sender) {
  const std::uint64_t now = receipts_of(peer, sender);
  if (now == sender.seen) return false;
  sender.seen = now;
  sender.quiet = 0;
  if (std::exchange(sender.has_stalled, false)) sender.patience = std::min(2 * sender.patience, kPatienceMax);
  return true;
}

void ShortOffers::begin_to_watch() {
  if (is_watched_ || lacks_room_ || waiting_ == 0) return;
  rank_.service().spawn(watch());
}

Task<> ShortOffers::watch() {
  struct Watched {
    explicit Watched(bool& flag) : is_watched(flag) { is_watched = true; }
    ~Watched() { is_watched = false; }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    bool& is_watched;
  };
  const Watched watched(is_watched_);
  while (waiting_ > 0 && !lacks_room_) {
    co_await sleep_for(kLookEvery);
    look_at_all();
  }
}

void ShortOffers::look_at_all() {
  for (auto& [peer, sender] : senders_) {
    if (sender.waiting.empty() || has_moved(peer, sender)) continue;
    // The first look may come as soon as the offer has.
    if (++sender.quiet <= sender.patience) continue;
    sender.has_stalled = true;
    want_some(peer, sender);
  }
}

void ShortOffers::want_some(std::uint32_t peer, Sender& sender) {
  while (!sender.waiting.empty() && sender.wanted.size() < kWantedMax) {
    const auto oldest = sender.waiting.begin();
    const std::size_t bytes = room_of(oldest->second->bytes());
    if (used_ + bytes > room_) {
      lacks_room_ = true;
      return;
    }
    used_ += bytes;
    --waiting_;
    const std::uint64_t serial = oldest->first;
    sender.wanted.insert(sender.waiting.extract(oldest));
    rank_.service().spawn(ask(peer, serial));
  }
}

Task<> ShortOffers::ask(std::uint32_t peer, std::uint64_t serial) {
  co_await yield();  // not from inside a handler
  const auto found = senders_.find(peer);
  if (found == senders_.end() || !found->second.wanted.contains(serial)) co_return;  // it has been received
  try {
    co_await rank_.request(peer, want_, {}, serial);
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;  // then forget() is called
  }
}

void ShortOffers::give_room(std::size_t bytes) noexcept {
  used_ -= room_of(bytes);
  lacks_room_ = false;
  begin_to_watch();
}

}  // namespace coracle::internals
