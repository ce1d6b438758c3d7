// Starting operations, and messages at both ends.
#include "transports/sim/sim_transport.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"
#include "transports/sim/sim_dma_device.hpp"
#include "transports/sim/sim_end.hpp"

namespace coracle::internals::sim {
namespace {

TransportTraits traits_of(const Link& link, const NetworkModel& model) noexcept {
  return {static_cast<double>(link.latency_ns + link.overhead_send_ns + link.overhead_receive_ns),
          link.bandwidth_bytes_per_ns,
          model.eager_bytes_max,
          false,
          static_cast<double>(link.overhead_send_ns),
          static_cast<double>(link.gap_ns),
          1};
}

}  // namespace

SimTransport::SimTransport(Nature& nature, SimTransports& all, Rank& rank) noexcept
    : SimEnd(nature, rank), all_(all), requests_(nature.model().inbox_bytes), replies_(nature.model().inbox_bytes) {
  all_[id()] = this;
}

void SimTransport::wake(std::uint32_t peer) noexcept {
  const std::uint64_t delay_ns = nature_.wires().link(id(), peer).latency_ns + nature_.jitter_ns();
  nature_.schedule().once(nature_.schedule().now_ns() + delay_ns, Random::mix(peer) + 11,
                          [&nature = nature_, peer] { nature.wake(peer); });
}

void SimTransport::forget_messages() noexcept {
  if (devices_ != nullptr) static_cast<SimDmaDevice&>(devices_->device()).come_to_rest();  // SimRank has made it
  for (const Transit* transit : in_flight_) unfinished_.push_back(transit->operation);
  for (auto& [peer, timing] : timings_)
    for (SimMessage* message : timing.under_way)
      if (message->at_port()) delete message;
  timings_.clear();
}

TransportTraits SimTransport::traits() const noexcept {
  // The worst of them.
  return traits_of(rank_.nodes() > 1 ? nature_.model().between : nature_.model().inside, nature_.model());
}

TransportTraits SimTransport::traits_to(std::uint32_t peer) const noexcept {
  return traits_of(nature_.wires().link(id(), peer), nature_.model());
}

std::error_code SimTransport::check(const Operation& operation) const noexcept {
  if (operation.verb == Operation::Verb::request)
    return static_cast<std::uint32_t>(operation.peer()) < rank_.size() ? std::error_code() : Errc::no_such_peer;
  if (const std::error_code error = memory_.check(operation.remote, operation.bytes)) return error;
  if (operation.signal_add > 0)
    if (const std::error_code error = memory_.check(operation.signal, sizeof(std::uint64_t))) return error;
  if (operation.is_atomic() && memory_.address_there(operation.remote) % operation.width != 0) return Errc::misaligned;
  return {};
}

void SimTransport::submit(Operation& operation) noexcept {
  if (const std::error_code error = check(operation)) return operation.finish(error);
  if (operation.verb != Operation::Verb::request) return start_one_sided(*this, operation);
  auto& request = static_cast<RequestOperation&>(operation);
  SimEnd& here = *this;
  auto message = std::make_unique<SimMessage>(here, transport_of(static_cast<std::uint32_t>(request.peer())), request);
  take_off(*message, request);
  post(std::move(message));
}

void SimTransport::reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept {
  if (rank_.lost(peer)) return;
  SimEnd& here = *this;
  post(std::make_unique<SimMessage>(here, transport_of(peer), header, payload));
}

void SimTransport::post(std::unique_ptr<SimMessage> message) noexcept {
  Inbox& inbox = transport_of(message->target).inbox_for(*message);
  if (!inbox.waits(id()) && inbox.take_room(*message)) return SimMessage::launch(std::move(message), 0);
  if (message->is_reply) ++waiting_replies_;
  inbox.waiting.push_back(std::move(message));
}

void SimTransport::pump(std::uint32_t target) noexcept {
  MessageTiming& timing = timings_[target];
  if (nature_.faults().blocked(id(), target)) return hold_up(target);
  while (timing.entering < timing.under_way.size() && timing.under_way[timing.entering]->at_port())
    timing.under_way[timing.entering++]->arrive();
}

/// What can't get in leaves its room to the messages of others; once it can, it comes in in spite of what room there
/// is.
void SimTransport::hold_up(std::uint32_t target) noexcept {
  SimTransport& there = transport_of(target);
  for (SimMessage* message : timings_[target].under_way)
    if (message->at_port()) there.inbox_for(*message).give_back_room(*message);
  there.feed_waiting(there.requests_);
  there.feed_waiting(there.replies_);
}

void SimTransport::pump_all() noexcept {
  for (const auto& [peer, timing] : timings_) pump(peer);
  if (devices_ != nullptr) devices_->device().links_changed();
}

void SimTransport::accept(std::unique_ptr<SimMessage> message) noexcept {
  if (rank_.lost(message->source)) return refuse(std::move(message));
  Inbox& inbox = inbox_for(*message);
  inbox.arrived.push_back(std::move(message));
  nature_.wake(id());
}

bool SimTransport::poll() noexcept {
  // One of each kind in a turn: each costs processor time, and what is done in between may come before the next.
  bool progress = take(replies_);
  // A request may make a reply: while old replies wait for room, no new requests are taken.
  if (waiting_replies_ == 0) progress |= take(requests_);
  return progress;
}

bool SimTransport::take(Inbox& inbox) noexcept {
  if (inbox.arrived.empty()) return false;
  std::unique_ptr<SimMessage> message = std::move(inbox.arrived.front());
  inbox.arrived.pop_front();
  if (rank_.lost(message->source)) {
    refuse(std::move(message));
    return true;
  }
  nature_.engage(id(), nature_.wires().link(message->source, id()).overhead_receive_ns);
  rank_.core().deliver(message->header, Message(*this, message->source, message->header, message->content()));
  inbox.give_back_room(*message);
  if (message->is_rendezvous()) SimMessage::send_back(std::move(message));
  feed_waiting(inbox);
  return true;
}

/// Lets waiting messages set out, as long as there is room: whose, chance decides; but each sender's in order.
void SimTransport::feed_waiting(Inbox& inbox) noexcept {
  while (!inbox.waiting.empty()) {
    const std::uint32_t source = inbox.waiting[nature_.random().below(inbox.waiting.size())]->source;
    const auto first = std::find_if(inbox.waiting.begin(), inbox.waiting.end(),
                                    [source](const auto& message) { return message->source == source; });
    if (!inbox.take_room(**first)) return;
    std::unique_ptr<SimMessage> message = std::move(*first);
    inbox.waiting.erase(first);
    if (message->is_reply) {
      --transport_of(source).waiting_replies_;
      nature_.wake(source);
    }
    SimMessage::launch(std::move(message), nature_.latency_ns(id(), source));
  }
}

}  // namespace coracle::internals::sim
