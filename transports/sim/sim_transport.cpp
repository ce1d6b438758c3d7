// Starting operations, and messages at both ends.
#include "transports/sim/sim_transport.hpp"

#include <algorithm>
#include <utility>

#include "runtime/error.hpp"
#include "transports/sim/one_sided.hpp"

namespace coracle::sim {

SimTransport::SimTransport(World& world, Rank& rank) noexcept
    : world_(world),
      rank_(rank),
      memory_(world.region(), true, true),
      requests_(world.model().inbox_bytes),
      replies_(world.model().inbox_bytes) {}

TransportTraits SimTransport::traits() const noexcept {
  const NetworkModel& model = world_.model();
  const Link& link = rank_.nodes() > 1 ? model.between : model.inside;
  return {static_cast<double>(link.latency_ns + link.overhead_send_ns + link.overhead_receive_ns),
          link.bandwidth_bytes_per_ns, model.eager_bytes_max, false};
}

std::error_code SimTransport::check(const Operation& operation) const noexcept {
  if (operation.verb == Operation::Verb::request)
    return static_cast<std::uint32_t>(operation.peer()) < rank_.size() ? std::error_code() : Errc::no_such_peer;
  if (const std::error_code error = memory_.check(operation.remote, operation.bytes)) return error;
  if (operation.signal_add > 0 && memory_.reach(operation.signal, sizeof(std::uint64_t)) == nullptr)
    return Errc::out_of_segment;
  const bool atomic = operation.verb == Operation::Verb::fetch_add || operation.verb == Operation::Verb::compare_swap;
  if (atomic && memory_.address_there(operation.remote) % operation.width != 0) return Errc::misaligned;
  return {};
}

void SimTransport::submit(Operation& operation) noexcept {
  if (const std::error_code error = check(operation)) return operation.finish(error);
  ++in_flight_;
  if (operation.verb != Operation::Verb::request) return start_one_sided(*this, operation);
  auto& request = static_cast<RequestOperation&>(operation);
  auto parcel = std::make_unique<Parcel>(world_, id(), static_cast<std::uint32_t>(operation.peer()), request.header);
  parcel->operation = &request;
  post(std::move(parcel));
}

void SimTransport::reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept {
  auto parcel = std::make_unique<Parcel>(world_, id(), peer, header);
  parcel->payload.assign(payload.begin(), payload.end());
  parcel->is_reply = true;
  post(std::move(parcel));
}

void SimTransport::post(std::unique_ptr<Parcel> parcel) noexcept {
  Inbox& inbox = world_.transport(parcel->target).inbox_for(*parcel);
  if (!inbox.waits(id()) && inbox.take_room(*parcel)) return Parcel::launch(std::move(parcel), 0);
  if (parcel->is_reply) ++waiting_replies_;
  inbox.waiting.push_back(std::move(parcel));
}

std::uint64_t SimTransport::reach_ns(std::uint32_t peer, std::uint64_t out_ns, bool keeps_order) noexcept {
  const std::uint64_t reach = out_ns + world_.wires().link(id(), peer).latency_ns + world_.jitter_ns();
  if (!keeps_order) return reach;
  std::uint64_t& last = last_reach_ns_[peer];
  last = std::max(reach, last + 1);
  return last;
}

void SimTransport::complete(Operation& operation, std::error_code outcome) noexcept {
  --in_flight_;
  operation.finish(outcome);
  world_.wake(id());
}

void SimTransport::accept(std::unique_ptr<Parcel> parcel) noexcept {
  Inbox& inbox = inbox_for(*parcel);
  inbox.arrived.push_back(std::move(parcel));
  world_.wake(id());
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
  std::unique_ptr<Parcel> parcel = std::move(inbox.arrived.front());
  inbox.arrived.pop_front();
  world_.engage(id(), world_.wires().link(parcel->source, id()).overhead_receive_ns);
  rank_.deliver(parcel->header, Message(*this, parcel->source, parcel->header, parcel->content()));
  inbox.room_bytes += parcel->inbox_bytes();
  if (parcel->is_rendezvous()) Parcel::send_back(std::move(parcel));
  feed_waiting(inbox);
  return true;
}

/// Lets waiting messages set out, as long as there is room: whose, chance decides; but each sender's in order.
void SimTransport::feed_waiting(Inbox& inbox) noexcept {
  while (!inbox.waiting.empty()) {
    const std::uint32_t source = inbox.waiting[world_.random().below(inbox.waiting.size())]->source;
    const auto first = std::find_if(inbox.waiting.begin(), inbox.waiting.end(),
                                    [source](const auto& parcel) { return parcel->source == source; });
    if (!inbox.take_room(**first)) return;
    std::unique_ptr<Parcel> parcel = std::move(*first);
    inbox.waiting.erase(first);
    if (parcel->is_reply) {
      --world_.transport(source).waiting_replies_;
      world_.wake(source);
    }
    Parcel::launch(std::move(parcel), world_.wires().link(id(), source).latency_ns);
  }
}

}  // namespace coracle::sim
