// The way of a message.
#include "transports/sim/sim_transport.hpp"

#include <algorithm>
#include <utility>

#include "transports/sim/sim_end.hpp"

namespace coracle::internals::sim {

SimMessage::SimMessage(SimEnd& from, SimEnd& to, RequestOperation& request) noexcept
    : from_end(from),
      to_end(to),
      source(from.id()),
      target(to.id()),
      header(request.header),
      is_reply(false),
      bytes_(request.bytes) {}

SimMessage::SimMessage(SimEnd& from, SimEnd& to, const MessageHeader& what, std::span<const std::byte> content) noexcept
    : from_end(from),
      to_end(to),
      source(from.id()),
      target(to.id()),
      header(what),
      payload(content.begin(), content.end()),
      is_reply(true),
      bytes_(content.size()) {}

bool SimMessage::is_rendezvous() const noexcept {
  return !is_reply && bytes_ > from_end.nature().model().eager_bytes_max;
}

std::size_t SimMessage::inbox_bytes() const noexcept {
  return kMessageOverheadBytes + (is_rendezvous() ? 0 : bytes_);
}

std::span<const std::byte> SimMessage::content() const noexcept {
  if (is_rendezvous()) return {static_cast<const std::byte*>(operation->local), bytes_};
  return payload;
}

std::uint64_t SimMessage::label() const noexcept {
  return Random::mix(std::uint64_t{source} << 32 | target) + 16 * bytes_ + static_cast<std::uint64_t>(stage_);
}

void SimMessage::launch(std::unique_ptr<SimMessage> message, std::uint64_t delay_ns) noexcept {
  Nature& nature = message->from_end.nature();
  const std::uint32_t source = message->source;
  const std::uint32_t target = message->target;
  const Link& link = nature.wires().link(source, target);
  const std::uint64_t now = nature.schedule().now_ns();
  const std::uint64_t ready = nature.engage(source, link.overhead_send_ns) + delay_ns;
  const Wires::Span out = nature.wires().send(source, target, message->bytes_, ready);
  // A rendezvous asks first: there and back once more.
  const std::uint64_t extra = message->is_rendezvous() ? 2 * link.latency_ns : 0;
  message->reach_ns_ = message->from_end.reach_ns(target, out.first_ns + extra, true);
  message->sent_ns_ = std::min(out.last_ns, message->reach_ns_);
  const bool reads_source = !message->is_reply && !message->is_rendezvous();
  message->stage_ = reads_source ? Stage::read : Stage::reaches;
  const std::uint64_t next = reads_source ? now + nature.random().up_to(message->sent_ns_ - now) : message->reach_ns_;
  message->from_end.set_out(target, *message);
  nature.schedule().at(next, *message.release());
}

void SimMessage::send_back(std::unique_ptr<SimMessage> message) noexcept {
  Nature& nature = message->from_end.nature();
  const std::uint64_t latency = nature.latency_ns(message->target, message->source);
  message->stage_ = Stage::told;
  nature.schedule().at(nature.schedule().now_ns() + latency + nature.jitter_ns(), *message.release());
}

void SimMessage::read_source() noexcept {
  const auto* source_bytes = static_cast<const std::byte*>(operation->local);
  payload.assign(source_bytes, source_bytes + bytes_);
}

void SimMessage::arrive() noexcept {
  stage_ = Stage::arrives;
  Schedule& schedule = from_end.nature().schedule();
  schedule.at(from_end.nature().wires().receive(source, target, bytes_, schedule.now_ns()), *this);
}

void SimMessage::happen() noexcept {
  if (doomed) return delete this;
  switch (stage_) {
    case Stage::read:
      read_source();
      stage_ = Stage::sent;
      return from_end.nature().schedule().at(sent_ns_, *this);
    case Stage::sent:
      from_end.complete(*this, {});
      stage_ = Stage::reaches;
      return from_end.nature().schedule().at(reach_ns_, *this);
    case Stage::reaches:
      stage_ = Stage::at_port;
      return from_end.pump(target);
    case Stage::arrives:
      from_end.has_arrived(target, *this);
      return to_end.accept(std::unique_ptr<SimMessage>(this));
    case Stage::waits:
    case Stage::at_port:
    case Stage::told:
      if (from_end.nature().faults().hold(*this, target, source)) return;
      if (!orphaned) from_end.complete(*this, {});
      delete this;
  }
}

}  // namespace coracle::internals::sim
