// Meeting a peer: both sides send each other what it takes to connect, by messages over the control transport, and each
// says when it is ready to receive. It makes no difference who begins, or whether both do.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/core/error.hpp"
#include "runtime/core/shortage.hpp"
#include "runtime/job/job.hpp"
#include "transports/verbs/transport.hpp"

namespace coracle::internals::verbs {

/// For the first operation to a peer.
void VerbsTransport::meet(Peer& peer) noexcept {
  peer.state = Peer::State::connecting;
  peer.heard_ns = rank_.loop().now_ns();
  if (!make_pair(peer)) return;
  peer.introduced = true;
  send_control(peer.rank, on_introduction, &peer.address);
  watch_silence();
}

/// Makes our end, and our address (in peer.address until the peer's takes its place). False: the peer is lost.
bool VerbsTransport::make_pair(Peer& peer) noexcept {
  try {
    peer.pair = std::make_unique<QueuePair>(port_, completions_.get(), receives_.get());
  } catch (const Error& error) {
    lose(peer, error.what(), error.code());
    return false;
  }
  by_pair_[peer.pair->number()] = &peer;
  peer.pair->introduce(port_, peer.address);
  peer.address.segment_address = reinterpret_cast<std::uint64_t>(segment_);
  peer.address.segment_key = segment_region_->rkey;
  peer.address.device_atomics = port_.device.atomic_cap == IBV_ATOMIC_GLOB ? 1 : 0;
  return true;
}

/// How long the device waits for an acknowledgement, so that all its tries end within the job's limit of silence.
std::uint8_t VerbsTransport::acknowledgement_timeout() const noexcept {
  const std::uint64_t tries_ns = region_.shape().network.silence_limit_ns / (QueuePair::kRetriesMax + 1);
  const auto exponent = static_cast<int>(std::bit_width(tries_ns / 4096)) - 1;  // 4.096 us * 2^exponent
  // Devices may take up to four times as long as they are told; hence one less.
  return static_cast<std::uint8_t>(std::clamp(exponent - 1, 8, 31));
}

void VerbsTransport::on_introduction(Rank& rank, const Message& message) {
  VerbsTransport* here = rank.local<TransportOfRank>().transport;
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

void VerbsTransport::connect(Peer& peer, const QueuePairAddress& address) noexcept {
  if (!peer.pair && !make_pair(peer)) return;
  const QueuePairAddress ours = peer.address;
  peer.address = address;
  peer.heard_ns = rank_.loop().now_ns();
  if (const int error = peer.pair->connect(port_, address, acknowledgement_timeout()); error != 0)
    return lose(peer, "the queue pair can't be connected", {error, std::generic_category()});
  peer.connected = true;
  if (!peer.introduced) {
    peer.introduced = true;
    send_control(peer.rank, on_introduction, &ours);
    watch_silence();
  }
  send_control(peer.rank, on_ready, nullptr);
}

void VerbsTransport::on_ready(Rank& rank, const Message& message) {
  VerbsTransport* here = rank.local<TransportOfRank>().transport;
  if (here == nullptr) return;
  Peer& peer = here->peer_of(message.source());
  // Messages of a peer keep their order: its card came before.
  if (peer.state != Peer::State::connecting || !peer.connected) return;
  peer.state = Peer::State::ready;
  peer.heard_ns = rank.loop().now_ns();
  here->pump(peer);
}

void VerbsTransport::on_refusal(Rank& rank, const Message& message) {
  VerbsTransport* here = rank.local<TransportOfRank>().transport;
  if (here == nullptr) return;
  Peer& peer = here->peer_of(message.source());
  if (here->must_) return here->lose(peer, "it has no RDMA device", Errc::unsupported);
  here->leave_to_control(peer);
}

/// The peer has no RDMA.
void VerbsTransport::leave_to_control(Peer& peer) noexcept {
  if (peer.state != Peer::State::connecting) return;
  peer.state = Peer::State::elsewhere;
  by_pair_.erase(peer.pair->number());
  peer.pair.reset();
  for (OperationQueue* queue : {&peer.transfers, &peer.requests}) {
    while (!queue->empty()) {
      --in_flight_;
      control_.submit(*queue->pop());
    }
  }
}

void VerbsTransport::send_control(std::uint32_t peer, Handler handler, const QueuePairAddress* address) noexcept {
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

void VerbsTransport::reap_control() noexcept {
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
      lose(peer, "it can't be reached for the handshake", outcome);
    else if (was_card && peer.state == Peer::State::connecting)
      put_off(peer, outcome);
  }
}

/// Our card has not left, for a reason that says nothing of the peer: the next operation begins anew.
void VerbsTransport::put_off(Peer& peer, std::error_code why) noexcept {
  by_pair_.erase(peer.pair->number());
  peer.pair.reset();
  peer.introduced = false;
  peer.state = Peer::State::absent;
  for (OperationQueue* queue : {&peer.transfers, &peer.requests})
    while (!queue->empty()) finish(*queue->pop(), why);
}

}  // namespace coracle::internals::verbs
