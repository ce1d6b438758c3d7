// What becomes of operations and messages when a simulated rank loses a peer, or dies.
#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"
#include "transports/sim/sim_transport.hpp"

namespace coracle::internals::sim {

bool SimTransport::depends_on(std::uint32_t peer) noexcept {
  if (devices_ != nullptr && devices_->depends_on(peer)) return true;
  const auto is_to_peer = [peer](const Transit* transit) {
    return transit->operation->peer() == static_cast<int>(peer);
  };
  if (std::any_of(in_flight_.begin(), in_flight_.end(), is_to_peer)) return true;
  // What has not got there is not confirmed, also when the program has its buffer back.
  const auto timing = timings_.find(peer);
  if (timing != timings_.end() && !timing->second.under_way.empty()) return true;
  return transport_of(peer).replies_.waits(id()) || rank_.core().peers().awaited(peer);
}

/// Takes its operation from a transit, which may have to go.
void SimTransport::orphan(Transit& transit) noexcept {
  land(transit);
  transit.orphaned = true;
  nature_.faults().drop_held(transit);
}

void SimTransport::peer_lost(std::uint32_t peer) noexcept {
  std::vector<Transit*> lost;
  for (Transit* transit : in_flight_)
    if (transit->operation->peer() == static_cast<int>(peer)) lost.push_back(transit);
  for (Transit* transit : lost) {
    Operation* operation = transit->operation;
    orphan(*transit);
    operation->finish(Errc::peer_lost);
  }
  cut_off(peer);
}

void SimTransport::die() noexcept {
  unfinished_.reserve(in_flight_.size());
  for (; !in_flight_.empty(); orphan(*in_flight_.back())) unfinished_.push_back(in_flight_.back()->operation);
  for (std::uint32_t peer = 0; peer < nature_.region().shape().size; ++peer) cut_off(peer);
}

void SimTransport::cut_off(std::uint32_t target) noexcept {
  SimTransport& there = transport_of(target);
  cut_off(target, there.requests_, false);
  cut_off(target, there.replies_, true);
}

/// Loses the messages to `target` from one on that chance chooses: at the latest from the first that still needs its
/// sender, so that what is delivered is always the beginning of what was sent.
void SimTransport::cut_off(std::uint32_t target, Inbox& inbox, bool replies) noexcept {
  MessageTiming& timing = timings_[target];
  std::vector<SimMessage*> all;
  for (const auto& message : inbox.arrived)
    if (message->source == id()) all.push_back(message.get());
  for (SimMessage* message : timing.under_way)
    if (message->is_reply == replies) all.push_back(message);
  const std::size_t set_out = all.size();
  for (const auto& message : inbox.waiting)
    if (message->source == id()) all.push_back(message.get());
  if (all.empty()) return;
  const auto needs_sender = [](const SimMessage* message) { return message->orphaned; };
  const auto first = static_cast<std::size_t>(std::find_if(all.begin(), all.end(), needs_sender) - all.begin());
  for (std::size_t i = nature_.random().up_to(std::min(first, set_out)); i < all.size(); ++i) all[i]->doomed = true;

  const auto gives_room = [&inbox](const auto& message) {
    if (message->doomed) inbox.give_back_room(*message);
    return message->doomed;
  };
  std::erase_if(inbox.arrived, gives_room);
  const auto entering = timing.under_way.begin() + static_cast<std::ptrdiff_t>(timing.entering);
  timing.entering -= static_cast<std::size_t>(
      std::count_if(timing.under_way.begin(), entering, [](const SimMessage* message) { return message->doomed; }));
  std::erase_if(timing.under_way, [&](SimMessage* message) {
    const bool gone = gives_room(message);
    if (gone && message->at_port()) delete message;  // the others go when their time comes
    return gone;
  });
  const std::size_t waiting = std::erase_if(inbox.waiting, [](const auto& message) { return message->doomed; });
  if (replies) waiting_replies_ -= waiting;
  transport_of(target).feed_waiting(inbox);
}

/// What comes from a lost peer: its sender will be told, or find out.
void SimTransport::refuse(std::unique_ptr<SimMessage> message) noexcept {
  Inbox& inbox = inbox_for(*message);
  inbox.give_back_room(*message);
  if (message->operation != nullptr) nature_.faults().keep(*message.release());
  feed_waiting(inbox);
}

}  // namespace coracle::internals::sim
