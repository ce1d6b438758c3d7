// How waits for messages begin and end.
#include "runtime/messages/message_waits.hpp"

#include <algorithm>

#include "runtime/messages/messages.hpp"
#include "runtime/prefetch.hpp"

namespace coracle::internals {
namespace {

int peer_of(const Team& team, std::uint32_t source) noexcept {
  return source == kAnySource ? -1 : static_cast<int>(team.member(source));
}

}  // namespace

MessageWait::MessageWait(Messages& messages, Team& team, std::uint32_t source, const char* what) noexcept
    : Waiter(what, peer_of(team, source)), messages_(messages), team_(team), source_(source) {}

void MessageWait::begin() {
  enter();
  messages_.rank().core().peers().watches().add(*this);
}

void MessageWait::await_resume() const {
  throw_if_failed();
  if (is_lost_) messages_.rank().core().throw_lost(what(), lost_);
}

bool MessageWait::concerns(std::uint32_t peer) const noexcept {
  return source_ == kAnySource ? team_.has(peer) : team_.member(source_) == peer;
}

void MessageWait::lost(const Loss& loss) noexcept {
  if (!MessageWait::concerns(loss.peer)) return;
  is_lost_ = true;
  lost_ = loss.peer;
  messages_.told(team_, source_, loss.peer);
  retire();
  end();
}

void MessageWait::cancel(std::error_code reason) noexcept {
  retire();
  leave();
  complete(reason);
}

bool Receive::await_ready() noexcept {
  if (UnexpectedMessage::Owner there = messages().take_out_first(wanted); there) {
    if (there->is_offer()) {
      accept(there->envelope, there->rank(), there->offer());
      return false;
    }
    messages().count_received(there->rank(), there->bytes());
    if (on_device_ && lands(there->bytes())) [[unlikely]] {
      keep(std::move(there));
      return false;
    }
    copy(there->envelope, there->rank(), MessageSource(there->payload()));
    return true;
  }
  const std::optional<std::uint32_t> lost = messages().lost_source(team(), wanted.source);
  if (lost) fail(*lost);
  return lost.has_value();
}

Received Receive::await_resume() const {
  MessageWait::await_resume();
  if (error_) std::rethrow_exception(error_);
  if (received_.bytes > target_.bytes()) throw_truncated(received_, rank_, target_.bytes());
  return received_;
}

void Receive::enter() {
  messages().matcher().post(*this);
  // A buffer out of which messages are read by their receivers is mostly one into which others come: its lines are with
  // those receivers. Of what is copied first, nobody else has them. Measured: of more than this too many are pushed out
  // again.
  constexpr std::size_t kFetchedMax = 4096;
  const std::size_t bytes = target_.bytes();
  if (bytes <= kFetchedMax && bytes > messages().copied_bytes_max() && !target_.is_scattered() && !on_device_)
    prefetch_for_writing(target_.span().data(), bytes);
}

void Receive::retire() noexcept {
  messages().matcher().withdraw(*this);
}

void Receive::take() noexcept {
  Scope& service = messages().rank().service();
  if (state_ == State::here)
    service.spawn(messages().land_for(*this, std::move(message_), target_));
  else
    service.spawn(messages().take_for(*this, offer_, rank_, target_));
}

void ProbeWait::enter() {
  messages().probes().push_back(this);
}

void ProbeWait::retire() noexcept {
  std::erase(messages().probes(), this);
}

}  // namespace coracle::internals
