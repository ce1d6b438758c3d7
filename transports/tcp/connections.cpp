// What connections do with this rank, and all of them.
#include "transports/tcp/tcp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/job/directory.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/read_exposures.hpp"

namespace coracle::internals::tcp {

Outgoing::Outgoing(ConnectionOwner& owner, Rank& rank, std::uint32_t peer)
    : owner_(owner),
      rank_(rank),
      peer_(peer),
      channel_(*this, owner, {rank.core().region().shape().key, rank.id(), peer}) {
  channel_.hold();  // until there is a connection
}

void Outgoing::leave() {
  channel_.leave();
  if (stream_) stream_->output_ready();
}

void Outgoing::on_reply(const MessageHeader& header, std::span<const std::byte> payload) noexcept {
  rank_.core().deliver(header, Message(owner_, peer_, header, payload));
}

Incoming::Incoming(ConnectionOwner& owner, Rank& rank, std::string address, std::uint64_t accepted_ns)
    : owner_(owner),
      rank_(rank),
      address_(std::move(address)),
      accepted_ns_(accepted_ns),
      channel_(*this, owner, frame_check(rank.core().region().shape().key)) {}

void Incoming::leave() {
  left_ = true;
  channel_.leave();
  stream_->output_ready();
}

std::string Incoming::on_hello(const Hello& hello) noexcept {
  const JobRegion& region = rank_.core().region();
  if (!same_key(hello.key, region.shape().key)) return "it does not have the key of this job";
  if (hello.source >= rank_.size() || region.is_local(hello.source))
    return fmt::format("it says that it is rank {}, which no other node has", hello.source);
  if (hello.target != rank_.id()) return fmt::format("this is rank {}, not rank {}", rank_.id(), hello.target);
  if (hello.program != program_digest())
    return fmt::format(
        "rank {} runs another build of the program, or of the library that programs share, than rank {}: the same must "
        "be on all nodes",
        hello.source, rank_.id());
  if (rank_.lost(hello.source)) return fmt::format("rank {} has been given up as lost", hello.source);
  peer_ = hello.source;
  return owner_.welcome(*this) ? std::string() : fmt::format("rank {} is connected already", hello.source);
}

std::byte* Incoming::resolve(const RemoteAddress& place, std::uint64_t bytes, bool to_write,
                             std::error_code& error) noexcept {
  const RemoteAddress own{place.offset, rank_.id(), place.segment};
  if (place.segment == RemoteAddress::kWholeMemory) {
    if (to_write || !rank_.core().read_exposures().covers(place.offset, bytes)) error = Errc::out_of_segment;
  } else {
    error = rank_.core().addresses().check(own, bytes);
  }
  if (error) return nullptr;
  return reinterpret_cast<std::byte*>(rank_.core().addresses().address_there(own));
}

void Incoming::raise_signal(std::byte* place, std::uint64_t add) noexcept {
  local::raise_signal(place, add, rank_.core().region().block(rank_.id()).doorbell);
}

void Incoming::on_message(const MessageHeader& header, std::span<const std::byte> payload) noexcept {
  owner_.count_message();
  rank_.core().deliver(header, Message(owner_, peer_, header, payload));
}

std::size_t Connections::in_flight() const noexcept {
  std::size_t count = 0;
  for (const auto& [number, peer] : peers_)
    if (peer.outgoing) count += peer.outgoing->channel().in_flight();
  return count;
}

void Connections::add(Peer& peer, std::unique_ptr<Outgoing> outgoing) noexcept {
  peer.outgoing = std::move(outgoing);
  ++open_outgoing_;
}

bool Connections::welcome(Incoming& incoming) noexcept {
  Incoming*& place = peers_[incoming.peer()].incoming;
  if (place != nullptr) return false;
  place = &incoming;
  return true;
}

void Connections::close(Peer& peer, bool reset) noexcept {
  peer.outgoing->close(reset);
  --open_outgoing_;
  dead_outgoing_.push_back(std::move(peer.outgoing));
}

void Connections::close(Incoming& incoming, bool reset) noexcept {
  incoming.close(reset);
  if (const auto peer = peers_.find(incoming.peer()); peer != peers_.end() && peer->second.incoming == &incoming)
    peer->second.incoming = nullptr;
  const auto mine = std::find_if(incoming_.begin(), incoming_.end(),
                                 [&](const std::unique_ptr<Incoming>& other) { return other.get() == &incoming; });
  dead_incoming_.push_back(std::move(*mine));
  incoming_.erase(mine);
}

void Connections::close_all() noexcept {
  for (auto& [number, peer] : peers_)
    if (peer.outgoing) close(peer, true);
  while (!incoming_.empty()) close(*incoming_.back(), true);
}

void Connections::leave_least_used() noexcept {
  Outgoing* oldest = nullptr;
  for (auto& [number, peer] : peers_) {
    if (!peer.outgoing || !peer.outgoing->connected() || peer.outgoing->channel().has_left() ||
        !peer.outgoing->channel().quiet())
      continue;
    if (oldest == nullptr || peer.outgoing->last_use < oldest->last_use) oldest = peer.outgoing.get();
  }
  if (oldest != nullptr) oldest->leave();
}

bool Connections::one_is_leaving() const noexcept {
  return std::any_of(peers_.begin(), peers_.end(), [](const auto& each) {
    Outgoing* outgoing = each.second.outgoing.get();
    return outgoing != nullptr && outgoing->connected() && outgoing->channel().has_left();
  });
}

bool Connections::bury_some() noexcept {
  std::erase_if(dead_outgoing_, [](const std::unique_ptr<Outgoing>& outgoing) {
    if (!outgoing->idle()) return false;
    outgoing->channel().fail_all(Errc::peer_lost);
    return true;
  });
  std::erase_if(dead_incoming_, [](const std::unique_ptr<Incoming>& incoming) { return incoming->idle(); });
  return dead_outgoing_.empty() && dead_incoming_.empty();
}

}  // namespace coracle::internals::tcp
