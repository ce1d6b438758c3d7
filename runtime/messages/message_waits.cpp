// How waits for messages begin and end.
#include "runtime/messages/message_waits.hpp"

#include <algorithm>

#include "runtime/messages/messages.hpp"

namespace coracle {
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

void PostedReceive::enter() {
  messages().matcher().post(*this);
}

void PostedReceive::retire() noexcept {
  messages().matcher().withdraw(*this);
}

void ProbeWait::enter() {
  messages().probes().push_back(this);
}

void ProbeWait::retire() noexcept {
  std::erase(messages().probes(), this);
}

}  // namespace coracle
