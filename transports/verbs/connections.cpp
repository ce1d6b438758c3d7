#include "transports/verbs/verbs_transport.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/core/error.hpp"

namespace coracle::internals::verbs {
namespace {

/// Asks the control transport whether the peer is there: an answer is not needed.
void on_nothing(Rank&, const Message&) {}

}  // namespace

Connections::Connections(Rank& rank, Transport& control, Endpoint& endpoint, PeerHost& host, bool must)
    : rank_(rank), control_(control), endpoint_(endpoint), host_(host), must_(must), peers_(rank.size()) {
  rank.local<TransportOfRank>().connections = this;
  rank.core().peers().observers().add(*this);
}

Connections::~Connections() {
  if (armed()) rank_.loop().timers().disarm(*this);
}

Peer& Connections::peer_of(std::uint32_t rank) {
  std::unique_ptr<Peer>& peer = peers_[rank];
  if (!peer) {
    peer = std::make_unique<Peer>();
    peer->rank = rank;
  }
  return *peer;
}

Peer* Connections::peer_of_pair(std::uint32_t number) const noexcept {
  const auto found = by_pair_.find(number);
  return found == by_pair_.end() ? nullptr : found->second;
}

void Connections::close(Peer& peer) noexcept {
  if (!peer.pair) return;
  by_pair_.erase(peer.pair->number());
  peer.pair.reset();
}

// --- meeting ---

void Connections::meet(Peer& peer) noexcept {
  peer.state = Peer::State::connecting;
  peer.heard_ns = rank_.loop().now_ns();
  if (!make_pair(peer)) return;
  peer.introduced = true;
  send_control(peer.rank, on_introduction, &peer.address);
  watch_silence();
}

/// Makes our end, and our address (in peer.address until the peer's takes its place). False: the peer is lost.
bool Connections::make_pair(Peer& peer) noexcept {
  try {
    peer.pair = endpoint_.make_pair(peer.address);
  } catch (const Error& error) {
    host_.lose(peer, error.what(), error.code());
    return false;
  }
  by_pair_[peer.pair->number()] = &peer;
  return true;
}

/// How long the device waits for an acknowledgement, so that all its tries end within the job's limit of silence.
std::uint8_t Connections::acknowledgement_timeout() const noexcept {
  const std::uint64_t tries_ns = silence_ns() / (QueuePair::kRetriesMax + 1);
  const auto exponent = static_cast<int>(std::bit_width(tries_ns / 4096)) - 1;  // 4.096 us * 2^exponent
  // Devices may take up to four times as long as they are told; hence one less.
  return static_cast<std::uint8_t>(std::clamp(exponent - 1, 8, 31));
}

void Connections::on_introduction(Rank& rank, const Message& message) {
  Connections* here = rank.local<TransportOfRank>().connections;
  QueuePairAddress address;
  if (here == nullptr || message.payload().size() != sizeof address) {
    message.reply(on_refusal, {}, {});
    return;
  }
  std::memcpy(&address, message.payload().data(), sizeof address);
  Peer& peer = here->peer_of(message.source());
  if (peer.state == Peer::State::lost || peer.connected) return;
  peer.state = Peer::State::connecting;
  here->connect(peer, address);
}

void Connections::connect(Peer& peer, const QueuePairAddress& address) noexcept {
  if (!peer.pair && !make_pair(peer)) return;
  const QueuePairAddress ours = peer.address;
  peer.address = address;
  peer.heard_ns = rank_.loop().now_ns();
  if (const int error = peer.pair->connect(endpoint_.port(), address, acknowledgement_timeout()); error != 0)
    return host_.lose(peer, "the queue pair can't be connected", {error, std::generic_category()});
  peer.connected = true;
  if (!peer.introduced) {
    peer.introduced = true;
    send_control(peer.rank, on_introduction, &ours);
    watch_silence();
  }
  send_control(peer.rank, on_ready, nullptr);
}

void Connections::on_ready(Rank& rank, const Message& message) {
  Connections* here = rank.local<TransportOfRank>().connections;
  if (here == nullptr) return;
  Peer& peer = here->peer_of(message.source());
  // Messages of a peer keep their order: its card came before.
  if (peer.state != Peer::State::connecting || !peer.connected) return;
  peer.state = Peer::State::ready;
  peer.heard_ns = rank.loop().now_ns();
  here->host_.pump(peer);
}

/// The peer has no RDMA.
void Connections::on_refusal(Rank& rank, const Message& message) {
  Connections* here = rank.local<TransportOfRank>().connections;
  if (here == nullptr) return;
  Peer& peer = here->peer_of(message.source());
  if (here->must_) return here->host_.lose(peer, "it has no RDMA device", Errc::unsupported);
  if (peer.state != Peer::State::connecting) return;
  peer.state = Peer::State::elsewhere;
  here->close(peer);
  for (OperationQueue* queue : {&peer.transfers, &peer.requests})
    while (!queue->empty()) here->host_.hand_over(*queue->pop());
}

void Connections::send_control(std::uint32_t peer, Handler handler, const QueuePairAddress* address) noexcept {
  ControlMessage& message = control_messages_.emplace_back(peer);
  message.header.handler = HandlerId::of(handler);
  message.header.argument_count = 0;
  if (address != nullptr) {
    message.address = *address;
    message.local = &message.address;
    message.bytes = sizeof message.address;
  }
  control_.submit(message);
}

void Connections::poll() noexcept {
  for (auto message = control_messages_.begin(); message != control_messages_.end();) {
    const auto each = message++;
    if (!each->finished()) continue;
    const std::error_code outcome = each->failed() ? each->outcome() : std::error_code();
    Peer& peer = peer_of(static_cast<std::uint32_t>(each->peer()));
    const bool was_card = each->bytes > 0;
    control_messages_.erase(each);
    if (!outcome) continue;
    const bool is_short = outcome.category() == std::generic_category() && is_shortage(outcome.value());
    if (!is_short || peer.connected)
      host_.lose(peer, "it can't be reached for the handshake", outcome);
    else if (was_card && peer.state == Peer::State::connecting)
      put_off(peer, outcome);
  }
}

/// Our card has not left, for a reason that says nothing of the peer: the next operation begins anew.
void Connections::put_off(Peer& peer, std::error_code why) noexcept {
  close(peer);
  peer.introduced = false;
  peer.state = Peer::State::absent;
  for (OperationQueue* queue : {&peer.transfers, &peer.requests})
    while (!queue->empty()) host_.finish(*queue->pop(), why);
}

// --- silence ---

/// Whether the peer's health matters to us: the device answers for a peer that is stopped.
bool Connections::concerns(std::uint32_t rank) const noexcept {
  const Peer* peer = rank < peers_.size() ? peers_[rank].get() : nullptr;
  if (peer == nullptr) return false;
  if (peer->state == Peer::State::connecting) return true;
  return peer->state == Peer::State::ready && (peer->awaited > 0 || !peer->pair->idle());
}

void Connections::watch_silence() noexcept {
  if (!armed()) rank_.loop().timers().arm(*this, rank_.loop().now_ns() + silence_ns() / 4);
}

void Connections::fire() noexcept {
  const std::uint64_t now = rank_.loop().now_ns();
  bool any = false;
  for (const std::unique_ptr<Peer>& peer : peers_) {
    const bool owes =
        peer && (peer->state == Peer::State::connecting || (peer->state == Peer::State::ready && peer->awaited > 0));
    if (owes && now >= peer->heard_ns + silence_ns() / 4) ask_after(*peer);
    any |= owes;
  }
  if (any) watch_silence();
}

/// The device tells whether the peer still takes anything.
void Connections::ask_after(Peer& peer) noexcept {
  if (peer.state == Peer::State::connecting) return send_control(peer.rank, on_nothing, nullptr);
  if (!peer.pair->idle() || peer.pair->has_unposted() || !endpoint_.has_room(*peer.pair)) return;
  ibv_send_wr nothing{};
  nothing.opcode = IBV_WR_RDMA_WRITE;
  nothing.wr.rdma = {peer.address.segment_address, peer.address.segment_key};
  endpoint_.add(*peer.pair, nothing, nullptr, {});
  peer.pair->post();
}

}  // namespace coracle::internals::verbs
