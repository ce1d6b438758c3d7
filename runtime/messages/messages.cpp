// The protocol of tagged messages: data and offers go as active messages, which keep their order for each pair of
// ranks.
#include "runtime/messages/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/messages/arrivals.hpp"
#include "runtime/messages/matcher.hpp"
#include "runtime/messages/message_waits.hpp"
#include "runtime/messages/probe_wait.hpp"
#include "runtime/messages/rendezvous.hpp"
#include "runtime/team/envelope.hpp"
#include "runtime/team/message_events.hpp"

namespace coracle::internals {

namespace {

Envelope envelope_of(const Message& message) noexcept {
  const std::uint64_t packed = message.argument(0);
  return {static_cast<std::uint32_t>(packed >> 32), static_cast<std::uint32_t>(packed), message.argument(1)};
}

auto concerned_by(std::uint32_t peer) noexcept {
  return [peer](const PostedReceive& receive) { return static_cast<const Receive&>(receive).concerns(peer); };
}

}  // namespace

Messages& Messages::make(Rank& rank) {
  rank.core().set_messages(rank.local<Messages>());
  return *rank.core().messages();
}

Messages::Messages(Rank& rank)
    : Arrivals(rank, on_room,
               {on_offer, on_withdraw, on_sends<&RendezvousSends::on_taken>, on_sends<&RendezvousSends::on_help>,
                on_sends<&RendezvousSends::on_pull>, on_piece, on_sends<&RendezvousSends::on_want>, on_supply}),
      data_handler_(HandlerId::of(on_data)),
      has_processes_(rank.placement() == Placement::process),
      eager_bytes_(rank.core().region().shape().messages.eager_bytes) {
  rank.core().peers().observers().add(*this);
}

bool Messages::concerns(std::uint32_t peer) const noexcept {
  std::size_t place = 0;
  return matcher_.find_posted(place, concerned_by(peer)) != nullptr ||
         std::ranges::any_of(probes_, [peer](const ProbeWait* wait) { return wait->concerns(peer); });
}

void Messages::lost(const Loss& loss) noexcept {
  short_offers_.forget(loss.peer);
  matcher_.sort_many();
  std::size_t place = 0;
  while (PostedReceive* receive = matcher_.find_posted(place, concerned_by(loss.peer)))
    static_cast<Receive*>(receive)->lost(loss.peer);  // which withdraws it
  for (std::size_t i = probes_.size(); i-- > 0;)
    if (probes_[i]->concerns(loss.peer)) probes_[i]->lost(loss.peer);
}

Messages::~Messages() {
  CORACLE_ASSERT(matcher_.posted() == 0, "a rank ended while {} receives wait", matcher_.posted());
  if (const Matcher::Unexpected* first = matcher_.first(); first != nullptr) {
    const auto* message = static_cast<const UnexpectedMessage*>(first);
    std::fprintf(stderr,
                 "coracle: rank %u: %zu messages were not received; the first came from rank %u, with tag %llu and %zu "
                 "bytes\n",
                 rank_.id(), unexpected(), message->rank(), static_cast<unsigned long long>(message->envelope.tag),
                 message->bytes());
  }
  short_offers_.forget_all();
  while (Matcher::Unexpected* message = matcher_.first()) take_out(static_cast<UnexpectedMessage&>(*message));
}

// --- sending ---

bool Messages::needs_copy(std::uint32_t peer, const MessageSource& source) const noexcept {
  const JobRegion& region = rank_.core().region();
  return region.is_local(peer) && !region.contains(source.origin(), source.bytes());
}

bool Messages::send_now(const Envelope& envelope, const MessageSource& source, std::uint32_t peer) {
  if (events_ != nullptr || source.is_scattered() || on_device(source)) return false;
  const std::size_t bytes = source.bytes();
  if (bytes > eager_bytes_ || !flow_control_.has_room(peer, bytes)) return false;
  MessageHeader header;
  header.handler = data_handler_;
  header.argument_count = 2;
  header.arguments[0] = envelope.place();
  header.arguments[1] = envelope.tag;
  if (!rank_.core().send_now(peer, header, source.span())) return false;
  flow_control_.take_known_room(peer, bytes);
  return true;
}

void Messages::fix_scheme(RendezvousScheme way) noexcept {
  rendezvous_.fix_scheme(way);
  eager_bytes_ =
      way == RendezvousScheme::automatic ? rank_.core().region().shape().messages.eager_bytes : kPackedBytesMax;
}

void Messages::on_room(Rank& rank, const Message& message) {
  of(rank).flow_control_.received_by(message.source(), message.argument(0));
}

// --- arriving ---

inline void Messages::arrive(const Envelope& envelope, std::uint32_t rank, const MessageSource& payload) {
  std::uint64_t number = 0;
  if (events_ != nullptr) [[unlikely]]
    number = tell_of_arrival(*events_, envelope, rank, payload.bytes());
  if (Matcher::Posted* receive = matcher_.match(envelope); receive != nullptr) {
    static_cast<Receive*>(receive)->deliver(envelope, rank, number, payload);
    if (flow_control_.pass(rank, payload.bytes())) [[unlikely]]
      tell_room(rank);
    return;
  }
  if (flow_control_.arrive(rank, payload.bytes())) [[unlikely]]
    tell_room(rank);
  UnexpectedOwner message = UnexpectedMessage::with(envelope, rank, payload);
  message->number = number;
  keep(std::move(message));
}

void Messages::on_data(Rank& rank, const Message& message) {
  of(rank).arrive(envelope_of(message), message.source(), MessageSource(message.payload()));
}

void Messages::on_offer(Rank& rank, const Message& message) {
  auto& messages = of(rank);
  const Envelope envelope = envelope_of(message);
  ReadyToSend offer;
  CORACLE_ASSERT(message.payload().size() == sizeof offer, "an offer of {} bytes from rank {}",
                 message.payload().size(), message.source());
  std::memcpy(&offer, message.payload().data(), sizeof offer);
  std::uint64_t number = 0;
  if (messages.events_ != nullptr) [[unlikely]]
    number = tell_of_arrival(*messages.events_, envelope, message.source(), offer.bytes);
  if (Matcher::Posted* receive = messages.matcher_.match(envelope); receive != nullptr)
    return static_cast<Receive*>(receive)->deliver(envelope, message.source(), number, offer);
  UnexpectedOwner kept = UnexpectedMessage::with(envelope, message.source(), offer);
  kept->number = number;
  UnexpectedMessage& there = *kept;
  messages.keep(std::move(kept));
  if (offer.is_short) messages.short_offers_.add(there);
}

void Messages::on_supply(Rank& rank, const Message& message) {
  auto& messages = of(rank);
  const std::uint64_t serial = message.argument(0);
  if (messages.short_offers_.arrive(message.source(), serial, message.payload()))
    messages.rendezvous_.answer(message, serial, RendezvousEnd::received);
}

void Messages::on_withdraw(Rank& rank, const Message& message) {
  auto& messages = of(rank);
  const std::uint64_t serial = message.argument(0);
  for (auto* each = messages.matcher_.first(); each != nullptr; each = each->after) {
    auto& kept = static_cast<UnexpectedMessage&>(*each);
    if (!kept.is_offer() || kept.rank() != message.source() || kept.offer().serial != serial) continue;
    messages.take_out(kept);
    return messages.rendezvous_.answer(message, serial, RendezvousEnd::withdrawn);
  }
  // It is being received: its sender will hear of that.
}

void Messages::keep(UnexpectedOwner message) {
  const Envelope& envelope = message->envelope;
  matcher_.keep(*message.release());
  std::erase_if(probes_, [&envelope](ProbeWait* probe) {
    if (!probe->accepts(envelope)) return false;
    probe->message_is_there();
    return true;
  });
}

// --- receiving ---

Task<Received> Messages::receive(UnexpectedOwner message, MessageTarget target) {
  const Received received{message->envelope.source, message->envelope.tag, message->bytes()};
  if (message->is_offer()) {
    co_await rendezvous_.take(message->offer(), message->rank(), target);
  } else {
    count_received(*message);
    if (received.bytes <= target.bytes()) {
      if (received.bytes > 0 && on_device(target))
        co_await copy_to_device(rank_.core(), message->payload(), target);
      else
        write_part(target, 0, message->payload());
    }
  }
  if (events_ != nullptr) tell_of_end(*events_, CORACLE_RECEIVE_END, message->rank(), message->number);
  if (received.bytes > target.bytes()) throw_truncated(received, message->rank(), target.bytes());
  co_return received;
}

void Messages::drop(UnexpectedOwner message) {
  begin_to_take(*message);
  if (events_ != nullptr) tell_of_end(*events_, CORACLE_RECEIVE_END, message->rank(), message->number);
  if (message->is_offer())
    rank_.service().spawn(rendezvous_.say_taken(message->rank(), message->offer()));
  else
    count_received(*message);
}

// --- probing ---

std::optional<Received> Messages::probe(Team& team, std::uint32_t from, std::uint64_t tag) {
  if (from != kAnySource) check_member(team, from, "probe");
  const UnexpectedMessage* there = find({team.core().identity(), from, tag});
  if (there == nullptr) return std::nullopt;
  return Received{there->envelope.source, there->envelope.tag, there->bytes()};
}

Task<Received> Messages::wait_probe(Team& team, std::uint32_t from, std::uint64_t tag) {
  for (;;) {
    if (const std::optional<Received> there = probe(team, from, tag)) co_return *there;
    if (const std::optional<std::uint32_t> lost = lost_source(team, from))
      rank_.core().peers().throw_lost("probe", *lost);
    ProbeWait wait(*this, team, {team.core().identity(), from, tag}, peer_of(team, from));
    co_await wait;
  }
}

UnexpectedOwner Messages::matched_probe(Team& team, std::uint32_t from, std::uint64_t tag) {
  if (from != kAnySource) check_member(team, from, "matched_probe");
  UnexpectedMessage* there = find({team.core().identity(), from, tag});
  if (there == nullptr) return nullptr;
  matcher_.remove(*there);  // it is not received yet
  return UnexpectedOwner(there);
}

}  // namespace coracle::internals
