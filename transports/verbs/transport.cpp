// The transport's life, its queues and its poller.
#include "transports/verbs/transport.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/io.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals::verbs {
namespace {

template <class T>
T made(T object, const Port& port, const char* what) {
  if (!object) throw_errno(errno, fmt::format("verbs: {} gives no {}", port.name, what));
  return object;
}

MemoryRegion pin_segment(const Port& port, std::byte* segment, std::size_t bytes) {
  MemoryRegion region(
      ibv_reg_mr(port.domain.get(), segment, bytes,
                 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
  if (!region)
    throw_errno(errno,
                fmt::format("verbs: the segment of {} MiB can't be pinned for {}: choose a smaller one (`coracle run "
                            "--segment 64M`) or raise the limit of locked memory (`ulimit -l unlimited`)",
                            bytes >> 20, port.name));
  return region;
}

SharedReceiveQueue make_receive_queue(const Port& port, std::uint32_t slots) {
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = slots;
  attributes.attr.max_sge = 1;
  return made(SharedReceiveQueue(ibv_create_srq(port.domain.get(), &attributes)), port, "shared receive queue");
}

void make_nonblocking(int fd) noexcept {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

CompletionChannel make_channel(const Port& port) {
  CompletionChannel channel = made(CompletionChannel(ibv_create_comp_channel(port.context.get())), port, "channel");
  make_nonblocking(channel->fd);
  make_nonblocking(port.context->async_fd);
  return channel;
}

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
      region_(rank.core().region()),
      control_(control),
      port_(std::move(port)),
      must_(must),
      segment_(region_.segment(rank.id())),
      segment_region_(pin_segment(port_, segment_, region_.shape().segment_bytes)),
      receive_slots_(port_.domain.get(), kReceiveSlots, kMessageBytesMax),
      send_slots_(port_.domain.get(), kSendSlots, kMessageBytesMax),
      channel_(make_channel(port_)),
      completions_(made(CompletionQueue(ibv_create_cq(
                            port_.context.get(), std::min<int>(port_.device.max_cqe, kOutstandingMax + kReceiveSlots),
                            nullptr, channel_.get(), 0)),
                        port_, "completion queue")),
      receives_(make_receive_queue(port_, kReceiveSlots)),
      registrations_(port_.domain.get()),
      receive_buffers_(port_.domain.get()),
      peers_(rank.size()) {
  for (std::uint32_t i = 0; i < kReceiveSlots; ++i) receives_to_post_.push_back(receive_slots_.take());
  post_receives();
  rank.loop().io().wake_on(channel_->fd);
  rank.local<TransportOfRank>().transport = this;
  rank.core().peers().observers().add(*this);
  // Whoever spins takes the processor from a device that is a program itself.
  if (port_.software) rank.loop().set_idle_policy({.spins = 0, .yields = 1});
}

VerbsTransport::~VerbsTransport() {
  if (armed()) rank_.loop().timers().disarm(*this);
  rank_.loop().io().forget(channel_->fd);
}

TransportTraits VerbsTransport::traits() const noexcept {
  return {1500, 10, kEagerBytesMax, false, 200, 100};
}

Peer& VerbsTransport::peer_of(std::uint32_t rank) {
  std::unique_ptr<Peer>& peer = peers_[rank];
  if (!peer) {
    peer = std::make_unique<Peer>();
    peer->rank = rank;
  }
  return *peer;
}

void VerbsTransport::finish(Operation& operation, std::error_code outcome) noexcept {
  --in_flight_;
  operation.finish(outcome);
}

void VerbsTransport::submit(Operation& operation) noexcept {
  ++in_flight_;
  const auto rank = static_cast<std::uint32_t>(operation.peer());
  if (rank >= peers_.size()) return finish(operation, Errc::no_such_peer);
  Peer& peer = peer_of(rank);
  if (peer.state == Peer::State::elsewhere) {
    --in_flight_;
    return control_.submit(operation);
  }
  if (peer.state == Peer::State::lost) return finish(operation, peer.reason);
  (operation.verb == Operation::Verb::request ? peer.requests : peer.transfers).push(operation);
  if (peer.state == Peer::State::absent) meet(peer);
  if (peer.state == Peer::State::ready) pump(peer);
}

bool VerbsTransport::has_room(const Peer& peer) const noexcept {
  return peer.pair->has_room() && outstanding_ < kOutstandingMax;
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
  for (; !peer.messages.empty(); peer.messages.pop_front()) {
    const std::vector<std::byte>& message = peer.messages.front();
    if (!has_room(peer)) return false;
    const std::uint32_t slot = send_slots_.take();
    if (slot == BufferPool::kNone) return false;
    std::copy(message.begin(), message.end(), send_slots_.data(slot));
    send_slot(peer, slot, message.size());
  }
  for (; !peer.flights.empty(); peer.flights.pop_front())
    if (!post_parts(*peer.flights.front())) return false;
  while (!peer.transfers.empty()) {
    Operation& operation = *peer.transfers.front();
    Operation* next = operation.next;  // the operation may be gone once it has been started
    if (!start_transfer(peer, operation)) return false;
    peer.transfers.drop_front(next);
    if (!peer.flights.empty()) return false;
  }
  while (!peer.requests.empty() && peer.offered == nullptr) {
    auto& request = static_cast<RequestOperation&>(*peer.requests.front());
    Operation* next = request.next;
    if (!start_request(peer, request)) return false;
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
    if (peer->pair->error() != 0) lose(*peer, "the device takes no more work requests for it");
  }
}

void VerbsTransport::serve_stalled() noexcept {
  for (Peer* peer : std::exchange(stalled_, {})) {
    peer->stalled = false;
    if (peer->state == Peer::State::ready) pump(*peer);
  }
}

bool VerbsTransport::poll() noexcept {
  if (!control_messages_.empty()) reap_control();
  if (by_pair_.empty()) return false;
  if (!dirty_.empty()) post_dirty();
  if (!poll_completions()) return false;
  if (!stalled_.empty()) serve_stalled();
  if (!dirty_.empty()) post_dirty();
  if (!receives_to_post_.empty()) post_receives();
  notified_ = false;
  return true;
}

bool VerbsTransport::poll_completions() noexcept {
  std::array<ibv_wc, 32> batch;
  const int count = ibv_poll_cq(completions_.get(), static_cast<int>(batch.size()), batch.data());
  CORACLE_ASSERT(count >= 0, "{}: polling the completion queue failed", port_.name);
  for (int i = 0; i < count; ++i) completed(batch[static_cast<std::size_t>(i)]);
  return count > 0;
}

/// Asks the device to make the channel readable with the next completion. What came before that the loop finds by its
/// last look.
void VerbsTransport::about_to_sleep() noexcept {
  if (notified_ || by_pair_.empty()) return;
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) ibv_ack_cq_events(queue, 1);
  ibv_async_event event;
  while (ibv_get_async_event(port_.context.get(), &event) == 0) ibv_ack_async_event(&event);
  notified_ = ibv_req_notify_cq(completions_.get(), 0) == 0;
}

void VerbsTransport::completed(const ibv_wc& completion) noexcept {
  if ((completion.wr_id & kOfReceive) != 0) return received(completion);
  const auto found = by_pair_.find(completion.qp_num);
  if (found == by_pair_.end()) return;  // of a connection that has been given up
  Peer& peer = *found->second;
  const std::error_code outcome = outcome_of(completion.status);
  peer.pair->complete(completion.wr_id, outcome,
                      [this](const PostedRequest& sent, std::error_code of_it) { sent_done(sent, of_it); });
  if (outcome) return lose(peer, ibv_wc_status_str(completion.status));
  if (!peer.dirty && peer.pair->has_unposted()) {
    peer.dirty = true;
    dirty_.push_back(&peer);
  }
}

void VerbsTransport::sent_done(const PostedRequest& sent, std::error_code outcome) noexcept {
  --outstanding_;
  if (sent.slot != BufferPool::kNone) send_slots_.give_back(sent.slot);
  if (sent.flight == nullptr) return;
  RdmaTransfer& flight = *sent.flight;
  --flight.parts_out;
  if (!flight.outcome) flight.outcome = outcome;
  if (flight.parts_out == 0 && flight.all_posted) finish_flight(flight);
}

/// Peers may still wait for the acknowledgement of what they have sent, which ends with our queue pair: so each says
/// goodbye, and stays until the others have, or some time has passed.
bool VerbsTransport::leave() noexcept {
  constexpr std::uint64_t kPatienceNs = 3'000'000'000;
  const std::uint64_t now = rank_.loop().exact_now_ns();
  if (!leaving_) {
    leaving_ = true;
    leave_until_ns_ = now + kPatienceNs;
    for (const auto& peer : peers_)
      if (peer && peer->state == Peer::State::ready) send(*peer, WireType::bye, {});
  }
  const auto stays = [](const std::unique_ptr<Peer>& peer) {
    return peer && peer->state == Peer::State::ready &&
           !(peer->said_bye && peer->messages.empty() && peer->pair->idle() && !peer->pair->has_unposted());
  };
  return now >= leave_until_ns_ || std::none_of(peers_.begin(), peers_.end(), stays);
}

}  // namespace coracle::internals::verbs
