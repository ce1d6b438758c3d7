#include "runtime/messages/short_offers.hpp"

#include <chrono>

#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

/// So long nothing must have been received: a receiver that is only slower than its sender would copy more by it.
constexpr std::chrono::milliseconds kPatience{1};

}  // namespace

void ShortOffers::add(UnexpectedMessage& offer) {
  const Key key{offer.rank(), offer.offer().serial};
  const std::uint64_t received = flow_control_.received_from(key.peer);
  Offer& added = offers_.insert_or_assign(key, Offer{&offer, received}).first->second;
  ++unwanted_;
  const auto stalled = stalled_.find(key.peer);
  if (stalled != stalled_.end() && stalled->second == received) want(key, added);
  begin_to_watch();
}

void ShortOffers::remove(const UnexpectedMessage& offer) noexcept {
  const auto found = offers_.find({offer.rank(), offer.offer().serial});
  if (found == offers_.end()) return;
  const bool was_wanted = found->second.is_wanted;
  offers_.erase(found);
  if (was_wanted)
    give_room(offer.bytes());
  else
    --unwanted_;
}

void ShortOffers::forget_all() noexcept {
  offers_.clear();
  unwanted_ = 0;
}

bool ShortOffers::arrive(std::uint32_t peer, std::uint64_t serial, std::span<const std::byte> payload) {
  const auto found = offers_.find({peer, serial});
  if (found == offers_.end() || !found->second.is_wanted) return false;
  UnexpectedMessage& message = *found->second.message;
  CORACLE_ASSERT(payload.size() == message.bytes(), "rank {} has offered {} bytes and sends {}", peer, message.bytes(),
                 payload.size());
  message.hold(payload);
  offers_.erase(found);
  return true;
}

void ShortOffers::begin_to_watch() {
  if (is_watched_ || lacks_room_ || unwanted_ == 0) return;
  is_watched_ = true;
  rank_.service().spawn(watch());
}

Task<> ShortOffers::watch() {
  while (unwanted_ > 0 && !lacks_room_) {
    co_await sleep_for(kPatience);
    look_at_all();
  }
  is_watched_ = false;
}

void ShortOffers::look_at_all() {
  for (auto& [key, offer] : offers_) {
    if (lacks_room_) return;
    if (offer.is_wanted) continue;
    const std::uint64_t received = flow_control_.received_from(key.peer);
    if (received == offer.received_bytes) {
      stalled_[key.peer] = received;
      want(key, offer);
    }
    offer.received_bytes = received;
  }
}

void ShortOffers::want(const Key& key, Offer& offer) {
  const std::size_t bytes = room_of(offer.message->bytes());
  if (used_ + bytes > room_) {
    lacks_room_ = true;
    return;
  }
  used_ += bytes;
  offer.is_wanted = true;
  --unwanted_;
  rank_.service().spawn(ask(key));
}

Task<> ShortOffers::ask(Key key) {
  co_await yield();  // not from inside a handler
  try {
    co_await rank_.request(key.peer, want_, {}, key.serial);
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;  // then it is received from nobody
  }
}

void ShortOffers::give_room(std::size_t bytes) noexcept {
  used_ -= room_of(bytes);
  lacks_room_ = false;
  begin_to_watch();
}

}  // namespace coracle::internals
