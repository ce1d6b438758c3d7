// Peers that are lost, and how we learn of it when nothing is under way that would tell.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "transports/verbs/transport.hpp"

namespace coracle::internals::verbs {
namespace {

/// Asks the control transport whether the peer is there: an answer is not needed.
void on_nothing(Rank&, const Message&) {}

}  // namespace

/// For ever: everything to it fails from now on.
void VerbsTransport::lose(Peer& peer, const char* why, std::error_code code) noexcept {
  if (peer.state == Peer::State::lost) return;
  let_go(peer, code);
  rank_.core().peer_lost({peer.rank, fmt::format("rank {} over {}: {}", peer.rank, port_.name, why)});
}

/// The runtime knows already.
void VerbsTransport::peer_lost(std::uint32_t rank) noexcept {
  let_go(peer_of(rank), Errc::peer_lost);
  control_.peer_lost(rank);
}

void VerbsTransport::let_go(Peer& peer, std::error_code code) noexcept {
  if (peer.state == Peer::State::lost) return;
  peer.state = Peer::State::lost;
  peer.reason = code;
  const auto flights = std::exchange(peer.flights, {});
  if (peer.pair) {
    peer.pair->abandon([this](const PostedRequest& sent) { sent_done(sent, Errc::peer_lost); });
    by_pair_.erase(peer.pair->number());
    peer.pair.reset();
  }
  for (RdmaTransfer* flight : flights) {  // not wholly posted
    if (!flight->outcome) flight->outcome = code;
    finish_flight(*flight);
  }
  fail_awaited(peer, code);
  for (std::uint64_t ticket = 0; ticket < grants_.size(); ++ticket) {
    if (grants_[ticket].registration == nullptr || grants_[ticket].peer != peer.rank) continue;
    registrations_.release(*std::exchange(grants_[ticket].registration, nullptr));
    free_grants_.push_back(ticket);
  }
  peer.messages.clear();
  for (OperationQueue* queue : {&peer.transfers, &peer.requests})
    while (!queue->empty()) finish(*queue->pop(), code);
}

/// What waits for an answer of the peer.
void VerbsTransport::fail_awaited(Peer& peer, std::error_code code) noexcept {
  peer.awaited = 0;
  for (std::uint64_t cookie = 0; cookie < pending_.size(); ++cookie) {
    if (pending_[cookie].peer != &peer) continue;
    free_pending_.push_back(cookie);
    const Pending pending = std::exchange(pending_[cookie], {});
    if (pending.flight != nullptr) {
      pending.flight->outcome = code;
      finish_flight(*pending.flight);
    } else {
      finish(*pending.operation, code);
    }
  }
  if (peer.offered == nullptr) return;
  registrations_.release(*std::exchange(peer.offered_memory, nullptr));
  finish(*std::exchange(peer.offered, nullptr), code);
}

/// Whether the peer's health matters to us: the device answers for a peer that is stopped.
bool VerbsTransport::concerns(std::uint32_t rank) const noexcept {
  const Peer* peer = rank < peers_.size() ? peers_[rank].get() : nullptr;
  if (peer == nullptr) return false;
  if (peer->state == Peer::State::connecting) return true;
  return peer->state == Peer::State::ready && (peer->awaited > 0 || !peer->pair->idle());
}

/// While answers are awaited, the timer runs.
void VerbsTransport::watch_silence() noexcept {
  if (armed()) return;
  rank_.loop().timers().arm(*this, rank_.loop().now_ns() + region_.shape().network.silence_limit_ns / 4);
}

/// A peer that owes an answer and is silent is written to: the device tells whether it still takes anything.
void VerbsTransport::fire() noexcept {
  const std::uint64_t now = rank_.loop().now_ns();
  const std::uint64_t patience_ns = region_.shape().network.silence_limit_ns / 4;
  bool any = false;
  for (const std::unique_ptr<Peer>& each : peers_) {
    if (!each) continue;
    Peer& peer = *each;
    const bool connecting = peer.state == Peer::State::connecting;
    if (!connecting && (peer.state != Peer::State::ready || peer.awaited == 0)) continue;
    any = true;
    if (now < peer.heard_ns + patience_ns) continue;
    if (connecting) {
      send_control(peer.rank, on_nothing, nullptr);
    } else if (peer.pair->idle() && !peer.pair->has_unposted() && has_room(peer)) {
      ibv_send_wr nothing{};
      nothing.opcode = IBV_WR_RDMA_WRITE;
      nothing.wr.rdma = {peer.address.segment_address, peer.address.segment_key};
      ++outstanding_;
      peer.pair->add(nothing, nullptr, {PostedRequest::What::probe, BufferPool::kNone, nullptr});
      peer.pair->post();
    }
  }
  if (any) watch_silence();
}

}  // namespace coracle::internals::verbs
