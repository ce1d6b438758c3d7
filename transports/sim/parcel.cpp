// The way of a message.
#include "transports/sim/parcel.hpp"

#include <algorithm>
#include <utility>

#include "transports/sim/sim_transport.hpp"
#include "transports/sim/world.hpp"

namespace coracle::sim {

bool Parcel::is_rendezvous() const noexcept {
  return operation != nullptr && operation->bytes > world_of.model().eager_bytes_max;
}

std::size_t Parcel::inbox_bytes() const noexcept {
  return kMessageOverheadBytes + (is_rendezvous() ? 0 : bytes());
}

std::span<const std::byte> Parcel::content() const noexcept {
  if (is_rendezvous()) return {static_cast<const std::byte*>(operation->local), operation->bytes};
  return payload;
}

std::uint64_t Parcel::label() const noexcept {
  return Random::mix(std::uint64_t{source} << 32 | target) + 16 * bytes() + static_cast<std::uint64_t>(stage_);
}

void Parcel::launch(std::unique_ptr<Parcel> parcel, std::uint64_t delay_ns) noexcept {
  World& world = parcel->world_of;
  const std::uint32_t source = parcel->source;
  const std::uint32_t target = parcel->target;
  const Link& link = world.wires().link(source, target);
  const std::uint64_t now = world.schedule().now_ns();
  const std::uint64_t ready = world.engage(source, link.overhead_send_ns) + delay_ns;
  const Wires::Span out = world.wires().send(source, target, parcel->bytes(), ready);
  // A rendezvous asks first: there and back once more.
  const std::uint64_t extra = parcel->is_rendezvous() ? 2 * link.latency_ns : 0;
  parcel->reach_ns_ = world.transport(source).reach_ns(target, out.first_ns + extra, true);
  parcel->sent_ns_ = std::min(out.last_ns, parcel->reach_ns_);
  const bool reads_source = parcel->operation != nullptr && !parcel->is_rendezvous();
  parcel->stage_ = reads_source ? Stage::read : Stage::reaches;
  const std::uint64_t next = reads_source ? now + world.random().up_to(parcel->sent_ns_ - now) : parcel->reach_ns_;
  world.schedule().at(next, *parcel.release());
}

void Parcel::send_back(std::unique_ptr<Parcel> parcel) noexcept {
  World& world = parcel->world_of;
  const std::uint64_t latency = world.wires().link(parcel->target, parcel->source).latency_ns;
  parcel->stage_ = Stage::told;
  world.schedule().at(world.schedule().now_ns() + latency + world.jitter_ns(), *parcel.release());
}

void Parcel::read_source() noexcept {
  const auto* source_bytes = static_cast<const std::byte*>(operation->local);
  payload.assign(source_bytes, source_bytes + operation->bytes);
}

void Parcel::happen() noexcept {
  Schedule& schedule = world_of.schedule();
  switch (stage_) {
    case Stage::read:
      read_source();
      stage_ = Stage::sent;
      return schedule.at(sent_ns_, *this);
    case Stage::sent:
      world_of.transport(source).complete(*std::exchange(operation, nullptr), {});
      stage_ = Stage::reaches;
      return schedule.at(reach_ns_, *this);
    case Stage::reaches:
      stage_ = Stage::arrives;
      return schedule.at(world_of.wires().receive(source, target, bytes(), schedule.now_ns()), *this);
    case Stage::arrives:
      return world_of.transport(target).accept(std::unique_ptr<Parcel>(this));
    case Stage::waits:
    case Stage::told:
      world_of.transport(source).complete(*operation, {});
      delete this;
  }
}

}  // namespace coracle::sim
