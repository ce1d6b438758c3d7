// How waits for messages begin and end.
#include "runtime/messages/message_waits.hpp"

#include <fmt/format.h>

#include <utility>

#include "runtime/core/cpu.hpp"
#include "runtime/core/error.hpp"
#include "runtime/messages/arrivals.hpp"
#include "runtime/messages/rendezvous.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/message_events.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

void throw_truncated(const Received& received, std::uint32_t rank, std::size_t bytes) {
  throw Error(Errc::truncated,
              fmt::format("a message of {} bytes from rank {} with tag {} was received into a buffer of {} bytes "
                          "(probe for its size first, or receive into a longer one)",
                          received.bytes, rank, received.tag, bytes));
}

WaitDetail MessageWait::detail() const noexcept {
  const std::optional<std::uint64_t> tag = wanted_tag();
  return {tag ? WaitKind::receive : WaitKind::transfer, team_.core().identity(), tag.value_or(0)};
}

void MessageWait::await_resume() const {
  throw_if_failed();
  if (is_lost_) arrivals_.rank().core().peers().throw_lost(what(), lost_);
}

bool MessageWait::concerns(std::uint32_t peer) const noexcept {
  return source_ == kAnySource ? team_.has(peer) : team_.member(source_) == peer;
}

void MessageWait::lost(std::uint32_t peer) noexcept {
  fail(peer);
  arrivals_.told(team_, source_, peer);
  retire();
  end();
}

void MessageWait::cancel(std::error_code reason) noexcept {
  retire();
  complete(reason);
}

bool Receive::await_ready() noexcept {
  if (UnexpectedMessage::Owner there = arrivals().take_out_first(wanted); there) {
    number_ = there->number;
    if (there->is_offer()) {
      keep(std::move(there));
      return false;
    }
    arrivals().count_received(*there);
    if (on_device_ && lands(there->bytes())) [[unlikely]] {
      keep(std::move(there));
      return false;
    }
    copy(there->envelope, there->rank(), MessageSource(there->payload()));
    return true;
  }
  const std::optional<std::uint32_t> lost = arrivals().lost_source(team(), wanted.source);
  if (lost) fail(*lost);
  return lost.has_value();
}

void Receive::deliver_to_device(const Envelope& envelope, std::uint32_t rank, const MessageSource& payload) noexcept {
  keep(UnexpectedMessage::with(envelope, rank, payload));  // it is gone when the handler returns
  take();
}

void Receive::deliver(const Envelope& envelope, std::uint32_t rank, std::uint64_t number,
                      const ReadyToSend& offer) noexcept {
  number_ = number;
  note(State::found, envelope, rank, offer.bytes);
  arrivals().rank().service().spawn(fetch(*this, offer, rank, target_));
}

void Receive::keep(UnexpectedOwner message) noexcept {
  note(State::found, message->envelope, message->rank(), message->bytes());
  message_ = std::move(message);
}

[[gnu::cold]] void Receive::tell_of_end() noexcept {
  coracle::internals::tell_of_end(*arrivals().events(), CORACLE_RECEIVE_END, rank_, number_);
}

void Receive::taken(std::exception_ptr error) noexcept {
  error_ = std::move(error);
  if (number_ != 0) tell_of_end();
  complete();
}

Received Receive::await_resume() const {
  MessageWait::await_resume();
  if (error_) std::rethrow_exception(error_);
  if (received_.bytes > target_.bytes()) throw_truncated(received_, rank_, target_.bytes());
  return received_;
}

void Receive::enter() {
  arrivals().matcher().post(*this);
  // A buffer out of which messages are read by their receivers is mostly one into which others come: its lines are with
  // those receivers. Of what is copied first, nobody else has them. Measured: of more than this too many are pushed out
  // again.
  constexpr std::size_t kFetchedMax = 4096;
  const std::size_t bytes = target_.bytes();
  if (bytes <= kFetchedMax && bytes > arrivals().copied_bytes_max() && !target_.is_scattered() && !on_device_)
    prefetch_for_writing(target_.span().data(), bytes);
}

void Receive::retire() noexcept {
  arrivals().matcher().withdraw(*this);
}

void Receive::take() noexcept {
  Scope& service = arrivals().rank().service();
  UnexpectedOwner message = std::move(message_);
  if (message->is_offer())
    service.spawn(fetch(*this, message->offer(), rank_, target_));
  else
    service.spawn(land(*this, std::move(message), target_));
}

Task<> Receive::fetch(Receive& receive, ReadyToSend offer, std::uint32_t rank, const MessageTarget& target) {
  std::exception_ptr failure;
  try {
    co_await yield();  // not from inside a handler: it may be a long copy
    co_await receive.arrivals().rendezvous().take(offer, rank, target);
  } catch (...) {
    failure = std::current_exception();
  }
  receive.taken(std::move(failure));
}

Task<> Receive::land(Receive& receive, UnexpectedOwner message, const MessageTarget& target) {
  std::exception_ptr failure;
  try {
    co_await yield();  // not from inside a handler
    co_await copy_to_device(receive.arrivals().rank().core(), message->payload(), target);
  } catch (...) {
    failure = std::current_exception();
  }
  receive.taken(std::move(failure));
}

}  // namespace coracle::internals
