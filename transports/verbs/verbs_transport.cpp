#include "transports/verbs/verbs_transport.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/io.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals::verbs {
namespace {

std::error_code outcome_of(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_SUCCESS:
      return {};
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
      return Errc::out_of_segment;
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
      return std::make_error_code(std::errc::bad_address);
    default:  // it answers no more, or the connection has ended for another reason
      return Errc::peer_lost;
  }
}

}  // namespace

VerbsTransport::VerbsTransport(Rank& rank, Transport& control, Port port, bool must)
    : rank_(rank),
      control_(control),
      endpoint_(std::move(port), {rank.core().region().segment(rank.id()), rank.core().region().shape().segment_bytes}),
      sender_(endpoint_, *this),
      transfers_(endpoint_, sender_, *this),
      server_(rank, endpoint_, sender_, *this),
      connections_(rank, control, endpoint_, *this, must) {
  rank.loop().io().wake_on(endpoint_.fd());
  // Whoever spins takes the processor from a device that is a program itself.
  if (endpoint_.port().software) rank.loop().set_idle_policy({.spins = 0, .yields = 1});
}

VerbsTransport::~VerbsTransport() {
  rank_.loop().io().forget(endpoint_.fd());
}

TransportTraits VerbsTransport::traits() const noexcept {
  return {1500, 10, kEagerBytesMax, false, 200, 100};
}

void VerbsTransport::finish(Operation& operation, std::error_code outcome) noexcept {
  --in_flight_;
  operation.finish(outcome);
}

void VerbsTransport::hand_over(Operation& operation) noexcept {
  --in_flight_;
  control_.submit(operation);
}

void VerbsTransport::deliver(Peer& peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept {
  rank_.core().deliver(header, Message(*this, peer.rank, header, payload));
}

void VerbsTransport::await_answer(Peer& peer) noexcept {
  ++peer.awaited;
  connections_.watch_silence();
}

// --- what is asked of this rank ---

void VerbsTransport::submit(Operation& operation) noexcept {
  ++in_flight_;
  const auto rank = static_cast<std::uint32_t>(operation.peer());
  if (rank >= connections_.peers().size()) return finish(operation, Errc::no_such_peer);
  Peer& peer = connections_.peer_of(rank);
  if (peer.state == Peer::State::elsewhere) return hand_over(operation);
  if (peer.state == Peer::State::lost) return finish(operation, peer.reason);
  (operation.verb == Operation::Verb::request ? peer.requests : peer.transfers).push(operation);
  if (peer.state == Peer::State::absent) connections_.meet(peer);
  if (peer.state == Peer::State::ready) pump(peer);
}

void VerbsTransport::reply(std::uint32_t peer, const MessageHeader& header,
                           std::span<const std::byte> payload) noexcept {
  sender_.send(connections_.peer_of(peer), WireType::reply, header, payload);
}

/// Starts what can be started; posts it at once when nothing is under way or much waits, else with what comes later in
/// this turn.
void VerbsTransport::pump(Peer& peer) noexcept {
  if (!pump_queues(peer) && !peer.stalled) {
    peer.stalled = true;
    stalled_.push_back(&peer);
  }
  if (!peer.pair || !peer.pair->has_unposted()) return;
  if (peer.pair->idle() || peer.urgent) {
    peer.urgent = false;
    peer.pair->post();
  }
  // After a failed post it is poll() that gives the peer up: here its operations may be in use.
  if ((peer.pair->has_unposted() || peer.pair->error() != 0) && !peer.dirty) {
    peer.dirty = true;
    dirty_.push_back(&peer);
  }
}

/// False when something waits for room.
bool VerbsTransport::pump_queues(Peer& peer) noexcept {
  if (!sender_.send_waiting(peer)) return false;
  for (; !peer.unposted.empty(); peer.unposted.pop_front())
    if (!transfers_.post_parts(*peer.unposted.front())) return false;
  while (!peer.transfers.empty()) {
    Operation& operation = *peer.transfers.front();
    Operation* next = operation.next;  // the operation may be gone once it has been started
    if (!transfers_.start(peer, operation)) return false;
    peer.transfers.drop_front(next);
    if (!peer.unposted.empty()) return false;
  }
  while (!peer.requests.empty() && peer.offered == nullptr) {
    auto& request = static_cast<RequestOperation&>(*peer.requests.front());
    Operation* next = request.next;
    if (!sender_.start(peer, request)) return false;
    peer.requests.drop_front(next);
  }
  return true;
}

void VerbsTransport::post_dirty() noexcept {
  for (Peer* peer : std::exchange(dirty_, {})) {
    peer->dirty = false;
    if (!peer->pair) continue;
    peer->urgent = false;
    peer->pair->post();
    if (peer->pair->error() != 0) lose(*peer, "the device takes no more work requests for it", Errc::peer_lost);
  }
}

void VerbsTransport::serve_stalled() noexcept {
  for (Peer* peer : std::exchange(stalled_, {})) {
    peer->stalled = false;
    if (peer->state == Peer::State::ready) pump(*peer);
  }
}

// --- what has completed ---

bool VerbsTransport::poll() noexcept {
  connections_.poll();
  if (!connections_.any()) return false;
  if (!dirty_.empty()) post_dirty();
  std::array<ibv_wc, 32> room;
  const std::span<const ibv_wc> completions = endpoint_.poll(room);
  if (completions.empty()) return false;
  for (const ibv_wc& completion : completions)
    Endpoint::is_receive(completion) ? received(completion) : completed(completion);
  if (!stalled_.empty()) serve_stalled();
  if (!dirty_.empty()) post_dirty();
  endpoint_.post_receives();
  return true;
}

void VerbsTransport::about_to_sleep() noexcept {
  if (connections_.any()) endpoint_.arm();
}

void VerbsTransport::completed(const ibv_wc& completion) noexcept {
  Peer* const peer = connections_.peer_of_pair(completion.qp_num);
  if (peer == nullptr) return;  // of a connection that has been given up
  const std::error_code outcome = outcome_of(completion.status);
  peer->pair->complete(completion.wr_id, outcome,
                       [this](const PostedRequest& sent, std::error_code of_it) { sent_done(sent, of_it); });
  if (outcome) return lose(*peer, ibv_wc_status_str(completion.status), Errc::peer_lost);
  if (!peer->dirty && peer->pair->has_unposted()) {
    peer->dirty = true;
    dirty_.push_back(peer);
  }
}

void VerbsTransport::sent_done(const PostedRequest& sent, std::error_code outcome) noexcept {
  endpoint_.sent(sent);
  if (sent.transfer != nullptr) transfers_.part_done(*sent.transfer, outcome);
}

void VerbsTransport::received(const ibv_wc& completion) noexcept {
  Peer* const peer = connections_.peer_of_pair(completion.qp_num);
  if (completion.status == IBV_WC_SUCCESS && peer != nullptr) {
    peer->heard_ns = rank_.loop().now_ns();
    if (completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
      raise(*peer, {std::uint64_t{ntohl(completion.imm_data)} * sizeof(Signal), rank_.id(), RemoteAddress::kOwnSegment},
            1);
    else if (const auto message = parse(endpoint_.message(completion)))
      receive_message(*peer, *message);
    else
      lose(*peer, kMalformed, Errc::peer_lost);
  }
  endpoint_.give_back(completion);
}

void VerbsTransport::receive_message(Peer& peer, const Parsed& message) noexcept {
  switch (message.kind) {
    case WireType::request:
    case WireType::reply:
    case WireType::offer:
      if (!message.header.handler.valid()) return lose(peer, kMalformed, Errc::peer_lost);
      if (leaving_) return;  // after the program's end nobody is there to be told
      return message.kind == WireType::offer ? transfers_.fetch(peer, message)
                                             : deliver(peer, message.header, message.payload);
    case WireType::taken:
      return sender_.receive_taken(peer, message);
    case WireType::ask:
      return server_.serve_ask(peer, message);
    case WireType::grant:
      return transfers_.receive_grant(peer, message);
    case WireType::release:
      return server_.receive_release(peer, message);
    case WireType::atomic:
      return server_.serve_atomic(peer, message);
    case WireType::atomic_reply:
      return transfers_.receive_atomic_reply(peer, message);
    case WireType::signal: {
      const auto& [segment, offset, add, none, nothing] = message.header.arguments;
      return raise(peer, {offset, rank_.id(), static_cast<std::uint32_t>(segment)}, add);
    }
    case WireType::bye:
      peer.said_bye = true;
      return;
  }
}

/// By this processor and not by the device: ranks of this node raise the same counter, and no device's addition is sure
/// to be atomic against theirs.
void VerbsTransport::raise(Peer& peer, const RemoteAddress& place, std::uint64_t add) noexcept {
  std::byte* counter = rank_.core().addresses().reach(place, sizeof(std::uint64_t));
  if (counter == nullptr || reinterpret_cast<std::uintptr_t>(counter) % alignof(std::uint64_t) != 0)
    return lose(peer, kMalformed, Errc::peer_lost);
  local::raise_signal(counter, add, rank_.core().region().block(rank_.id()).doorbell);
}

// --- ends ---

void VerbsTransport::lose(Peer& peer, const char* why, std::error_code code) noexcept {
  if (peer.state == Peer::State::lost) return;
  let_go(peer, code);
  rank_.core().peer_lost({peer.rank, fmt::format("rank {} over {}: {}", peer.rank, endpoint_.port().name, why)});
}

/// The runtime knows already.
void VerbsTransport::peer_lost(std::uint32_t rank) noexcept {
  let_go(connections_.peer_of(rank), Errc::peer_lost);
  control_.peer_lost(rank);
}

void VerbsTransport::let_go(Peer& peer, std::error_code code) noexcept {
  if (peer.state == Peer::State::lost) return;
  peer.state = Peer::State::lost;
  peer.reason = code;
  const auto unposted = std::exchange(peer.unposted, {});
  if (peer.pair) peer.pair->abandon([this](const PostedRequest& sent) { sent_done(sent, Errc::peer_lost); });
  connections_.close(peer);
  for (RdmaTransfer* transfer : unposted) {  // not wholly posted
    if (!transfer->outcome) transfer->outcome = code;
    transfers_.finish(*transfer);
  }
  transfers_.fail_awaited(peer, code);
  sender_.end_offer(peer, code);
  server_.drop(peer);
  peer.messages.clear();
  for (OperationQueue* queue : {&peer.transfers, &peer.requests})
    while (!queue->empty()) finish(*queue->pop(), code);
}

/// Peers may still wait for the acknowledgement of what they have sent, which ends with our queue pair: so each says
/// goodbye, and stays until the others have, or some time has passed.
bool VerbsTransport::leave() noexcept {
  constexpr std::uint64_t kPatienceNs = 3'000'000'000;
  const std::uint64_t now = rank_.loop().exact_now_ns();
  if (!leaving_) {
    leaving_ = true;
    leave_until_ns_ = now + kPatienceNs;
  }
  // Also those with whom it has been connected since.
  for (const auto& peer : connections_.peers())
    if (peer && peer->state == Peer::State::ready && !std::exchange(peer->told_bye, true))
      sender_.send(*peer, WireType::bye, {});
  const auto stays = [](const std::unique_ptr<Peer>& peer) {
    return peer && peer->state == Peer::State::ready &&
           !(peer->said_bye && peer->messages.empty() && peer->pair->idle() && !peer->pair->has_unposted());
  };
  return now >= leave_until_ns_ || std::none_of(connections_.peers().begin(), connections_.peers().end(), stays);
}

// --- making it, and trying whether it could be made ---

Support probe() {
  Support support;
  const std::optional<Port> port = open_port(0, support);
  if (!port) return support;
  try {
    const RegisteredBuffer some(port->domain.get(), std::size_t{16} << 20);
  } catch (const Error& error) {
    return {false, support.software,
            fmt::format("{} is there, but 16 MiB of memory can't be pinned for it: {}", support.detail,
                        error.code().message()),
            "raise the limit of locked memory: `ulimit -l unlimited` (memlock in /etc/security/limits.conf, or "
            "LimitMEMLOCK=infinity of the service)"};
  }
  return support;
}

std::unique_ptr<Transport> make_transport(Rank& rank, Transport& control, bool must) {
  Support support;
  std::optional<Port> port = open_port(rank.id() - rank.core().region().first_rank(), support);
  if (!port && must) throw Error(Errc::unsupported, fmt::format("verbs: {}; {}", support.detail, support.remedy));
  if (!port || (!must && port->software)) return nullptr;
  try {
    return std::make_unique<VerbsTransport>(rank, control, std::move(*port), must);
  } catch (const Error&) {
    if (must) throw;
    return nullptr;
  }
}

}  // namespace coracle::internals::verbs
