// What becomes of operations and messages when a simulated rank loses a peer, or dies.
#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"
#include "transports/sim/sim_transport.hpp"

namespace coracle::internals::sim {

bool SimTransport::depends_on(std::uint32_t peer) noexcept {
  if (boards_ != nullptr && boards_->depends_on(peer)) return true;
  const auto is_to_peer = [peer](const Traveler* traveler) {
    return traveler->operation->peer() == static_cast<int>(peer);
  };
  if (std::any_of(in_flight_.begin(), in_flight_.end(), is_to_peer)) return true;
  // What has not got there is not confirmed, also when the program has its buffer back.
  const auto way = ways_.find(peer);
  if (way != ways_.end() && !way->second.under_way.empty()) return true;
  return transport_of(peer).replies_.waits(id()) || rank_.core().peers().awaited(peer);
}

/// Takes its operation from a traveler, which may have to go.
void SimTransport::orphan(Traveler& traveler) noexcept {
  land(traveler);
  traveler.orphaned = true;
  nature_.faults().drop_held(traveler);
}

void SimTransport::peer_lost(std::uint32_t peer) noexcept {
  std::vector<Traveler*> lost;
  for (Traveler* traveler : in_flight_)
    if (traveler->operation->peer() == static_cast<int>(peer)) lost.push_back(traveler);
  for (Traveler* traveler : lost) {
    Operation* operation = traveler->operation;
    orphan(*traveler);
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
  MessageWay& way = ways_[target];
  std::vector<Parcel*> all;
  for (const auto& parcel : inbox.arrived)
    if (parcel->source == id()) all.push_back(parcel.get());
  for (Parcel* parcel : way.under_way)
    if (parcel->is_reply == replies) all.push_back(parcel);
  const std::size_t set_out = all.size();
  for (const auto& parcel : inbox.waiting)
    if (parcel->source == id()) all.push_back(parcel.get());
  if (all.empty()) return;
  const auto needs_sender = [](const Parcel* parcel) { return parcel->orphaned; };
  const auto first = static_cast<std::size_t>(std::find_if(all.begin(), all.end(), needs_sender) - all.begin());
  for (std::size_t i = nature_.random().up_to(std::min(first, set_out)); i < all.size(); ++i) all[i]->doomed = true;

  const auto gives_room = [&inbox](const auto& parcel) {
    if (parcel->doomed) inbox.give_back_room(*parcel);
    return parcel->doomed;
  };
  std::erase_if(inbox.arrived, gives_room);
  const auto entering = way.under_way.begin() + static_cast<std::ptrdiff_t>(way.entering);
  way.entering -= static_cast<std::size_t>(
      std::count_if(way.under_way.begin(), entering, [](const Parcel* parcel) { return parcel->doomed; }));
  std::erase_if(way.under_way, [&](Parcel* parcel) {
    const bool gone = gives_room(parcel);
    if (gone && parcel->at_port()) delete parcel;  // the others go when their time comes
    return gone;
  });
  const std::size_t waiting = std::erase_if(inbox.waiting, [](const auto& parcel) { return parcel->doomed; });
  if (replies) waiting_replies_ -= waiting;
  transport_of(target).feed_waiting(inbox);
}

/// What comes from a lost peer: its sender will be told, or find out.
void SimTransport::refuse(std::unique_ptr<Parcel> parcel) noexcept {
  Inbox& inbox = inbox_for(*parcel);
  inbox.give_back_room(*parcel);
  if (parcel->operation != nullptr) nature_.faults().keep(*parcel.release());
  feed_waiting(inbox);
}

}  // namespace coracle::internals::sim
