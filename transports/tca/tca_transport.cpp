// What is asked of this rank.
#include "transports/tca/tca_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank_core.hpp"

namespace coracle::internals::tca {
namespace {

/// A rank without credits asks for them after this, and then ever more seldom.
constexpr std::uint64_t kWatchPauseNs = 2'000'000;
constexpr std::uint64_t kWatchPauseMaxNs = 1'000'000'000;

}  // namespace

TcaTransport::TcaTransport(Rank& rank, std::unique_ptr<RemoteDmaDevice> device, const DmaOptions& options,
                           std::unique_ptr<Platform> platform)
    : rank_(rank),
      region_(rank.core().region()),
      memory_(region_, true, true),
      registered_(region_),
      shares_memory_(rank.placement() != Placement::process),
      losses_(rank),
      device_(std::move(device)),
      platform_(std::move(platform)),
      engine_(*device_, rank.loop().clock(), options),
      area_(area_of(rank.id())),
      peers_(rank.size()) {
  if (rank.size() > PacketArea::kRanksMax || region_.ranks() != rank.size())
    throw Error(Errc::unsupported, fmt::format("tca joins at most {} ranks, all on one node; this job has {} on {}",
                                               PacketArea::kRanksMax, rank.size(), rank.nodes()));
  CORACLE_ASSERT(region_.shape().inbox_bytes >= PacketArea::bytes(rank.size()),
                 "inboxes of {} bytes; the job's maker must ask for {}", region_.shape().inbox_bytes,
                 PacketArea::bytes(rank.size()));
  for (Batch& batch : batches_) batch.transport = this;
  for (std::size_t i = 0; i < PacketArea::kSendBuffers; ++i) free_send_buffers_.push_back(i);
  for (int i = 0; i < static_cast<int>(PacketArea::kBounces); ++i) free_bounces_.push_back(i);
  look_timer_.transport = this;
}

TcaTransport::~TcaTransport() {
  rank_.loop().timers().disarm(look_timer_);
}

PacketArea TcaTransport::area_of(std::uint32_t rank) const noexcept {
  return {region_.inbox(rank), region_.shape().size};
}

TransportTraits TcaTransport::traits() const noexcept {
  // Published: 2.0 to 2.3 us between two nodes, 0.8 us for a store of the processor; four channels together.
  return {2000, 3.0, PacketSlot::kPayloadBytes, false, 300, 500};
}

void TcaTransport::wake(std::uint32_t rank) noexcept {
  if (platform_ != nullptr) platform_->wake(rank);
}

std::uint64_t TcaTransport::occupy(Scheduler& loop, std::uint64_t duration_ns) noexcept {
  return platform_ != nullptr ? platform_->occupy(loop, duration_ns) : Transport::occupy(loop, duration_ns);
}

std::error_code TcaTransport::check(const Operation& operation) const noexcept {
  if (operation.verb == Operation::Verb::request)
    return static_cast<std::uint32_t>(operation.peer()) < rank_.size() ? std::error_code() : Errc::no_such_peer;
  if (const std::error_code error = memory_.check(operation.remote, operation.bytes)) return error;
  if (operation.signal_add > 0) {
    if (const std::error_code error = memory_.check(operation.signal, sizeof(std::uint64_t))) return error;
    if (memory_.address_there(operation.signal) % sizeof(std::uint64_t) != 0) return Errc::misaligned;
  }
  if (operation.is_atomic() && memory_.address_there(operation.remote) % operation.width != 0) return Errc::misaligned;
  return {};
}

/// In the peer's address space, which is ours where memory is shared.
std::byte* TcaTransport::address_of(const RemoteAddress& place) const noexcept {
  return reinterpret_cast<std::byte*>(memory_.address_there(place));
}

bool TcaTransport::is_registered(const std::byte* begin, std::size_t bytes) const noexcept {
  return registered_.contains(rank_.id(), begin, bytes);
}

/// So that nobody withdraws it.
bool TcaTransport::is_in_segment(const std::byte* begin, std::size_t bytes) const noexcept {
  const std::byte* first = region_.segment(rank_.id());
  const std::uint64_t room = region_.shape().segment_bytes;
  return begin >= first && bytes <= room && begin <= first + (room - bytes);
}

void TcaTransport::submit(Operation& operation) noexcept {
  if (const std::error_code error = check(operation)) return operation.finish(error);
  ++in_flight_;
  switch (operation.verb) {
    case Operation::Verb::put:
      start_put(operation);
      break;
    case Operation::Verb::request:
      start_request(static_cast<RequestOperation&>(operation));
      break;
    case Operation::Verb::get: {
      if (operation.bytes == 0) return finish(operation, {});
      auto* to = static_cast<std::byte*>(operation.local);
      PacketHeader header;
      header.kind = PacketType::get;
      header.words = 4;
      header.word = {reinterpret_cast<std::uint64_t>(address_of(operation.remote)), operation.bytes,
                     is_registered(to, operation.bytes) ? reinterpret_cast<std::uint64_t>(to) : ~std::uint64_t{0},
                     operation.remote.segment};
      ask(operation, header);
      break;
    }
    default: {
      const bool swaps = operation.verb == Operation::Verb::compare_swap;
      PacketHeader header;
      header.kind = PacketType::atomic;
      header.words = 5;
      header.word = {reinterpret_cast<std::uint64_t>(address_of(operation.remote)), operation.operand,
                     swaps ? operation.compare : 0,
                     operation.width | (swaps ? kComparesAndSwaps : 0U) |
                         static_cast<std::uint64_t>(operation.modification.code()) << kModificationShift,
                     operation.remote.segment};
      ask(operation, header);
    }
  }
}

void TcaTransport::start_request(RequestOperation& request) noexcept {
  Outgoing outgoing;
  outgoing.header.kind = PacketType::request;
  outgoing.header.words = static_cast<std::uint8_t>(request.header.argument_count);
  outgoing.header.handler = request.header.handler.to_wire();
  outgoing.header.cookie = request.bytes;
  std::copy_n(request.header.arguments.begin(), request.header.argument_count, outgoing.header.word.begin());
  outgoing.source = static_cast<const std::byte*>(request.local);
  outgoing.bytes = request.bytes;
  outgoing.operation = &request;
  send(static_cast<std::uint32_t>(request.peer()), std::move(outgoing));
}

void TcaTransport::start_put(Operation& put) noexcept {
  std::byte* target = address_of(put.remote);
  const auto* source = static_cast<const std::byte*>(put.local);
  if (put.bytes > 0 && (shares_memory_ || region_.contains(target, put.bytes)))
    return deliver(&put, {}, put.remote.rank, source, target, put.bytes);
  // Memory that only its owner reaches, or nothing but a signal.
  send_data(&put, {}, put.remote.rank, source, target, put.bytes, true);
}

void TcaTransport::ask(Operation& operation, PacketHeader header) noexcept {
  if (free_asked_.empty()) {
    free_asked_.push_back(static_cast<std::uint32_t>(asked_.size()));
    asked_.emplace_back();
  }
  const std::uint32_t index = free_asked_.back();
  free_asked_.pop_back();
  Asked& asked = asked_[index];
  asked.operation = &operation;
  ++state_of(operation.remote.rank).asked;
  header.cookie = std::uint64_t{++asked.generation} << 32 | index;
  Outgoing outgoing;
  outgoing.header = header;
  send(operation.remote.rank, std::move(outgoing));
}

/// The operation that is answered for good; null when it has ended before.
Operation* TcaTransport::answered(std::uint64_t cookie) noexcept {
  const auto index = static_cast<std::uint32_t>(cookie);
  if (index >= asked_.size() || asked_[index].generation != cookie >> 32 || asked_[index].operation == nullptr)
    return nullptr;
  free_asked_.push_back(index);
  --state_of(asked_[index].operation->remote.rank).asked;
  return std::exchange(asked_[index].operation, nullptr);
}

void TcaTransport::finish(Operation& operation, std::error_code error) noexcept {
  --in_flight_;
  operation.finish(error);
}

void TcaTransport::reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept {
  if (rank_.lost(peer)) return;
  Outgoing outgoing;
  outgoing.header.kind = PacketType::reply;
  outgoing.header.words = static_cast<std::uint8_t>(header.argument_count);
  outgoing.header.handler = header.handler.to_wire();
  outgoing.header.cookie = payload.size();
  std::copy_n(header.arguments.begin(), header.argument_count, outgoing.header.word.begin());
  outgoing.owned.assign(payload.begin(), payload.end());
  outgoing.source = outgoing.owned.data();
  outgoing.bytes = payload.size();
  send(peer, std::move(outgoing));
}

bool TcaTransport::poll() noexcept {
  losses_.look();
  bool progress = engine_.poll();
  progress |= receive();
  if (queued_ > 0 || in_flight_ > 0) progress |= pump();
  flush();
  return progress;
}

bool TcaTransport::leave() noexcept {
  poll();
  const bool batched =
      std::any_of(batches_.begin(), batches_.end(), [](const Batch& batch) { return !batch.chain.empty(); });
  return queued_ == 0 && !batched && !engine_.busy();
}

/// Something is on its way that may get stuck; poll() is called then also when nothing happens.
void TcaTransport::start_watch() noexcept {
  watch_pause_ns_ = kWatchPauseNs;
  const std::uint64_t time = rank_.loop().now_ns() + watch_pause_ns_;
  if (look_timer_.armed() && look_at_ns_ <= time) return;
  if (look_timer_.armed()) rank_.loop().timers().disarm(look_timer_);
  look_at_ns_ = time;
  rank_.loop().timers().arm(look_timer_, time);
}

void TcaTransport::look() noexcept {
  engine_.poll();
  bool stuck = engine_.busy();
  for (std::uint32_t peer = 0; peer < peers_.size(); ++peer) {
    Peer& each = state_of(peer);
    if (rank_.lost(peer) || !depends_on(peer)) continue;
    // acquire: pairs with the release at the end of that rank's program.
    if (region_.block(peer).phase.load(std::memory_order_acquire) == RankPhase::finished) {
      end_with_finished(peer);
      continue;
    }
    stuck |= each.asked > 0;
    if (each.queue.empty() && each.unconfirmed.empty()) continue;
    stuck = true;
    device_->store(&area_of(peer).credit_request(rank_.id()).count, ++each.credit_requests);
  }
  // Who only waits for an answer is woken by it. And in virtual time a job in which all wait for each other must come
  // to its end some time.
  const bool patient = platform_ == nullptr || engine_.busy() || watch_pause_ns_ <= kWatchPauseMaxNs << 10;
  if (look_timer_.armed() || !stuck || !patient) return;
  if (watch_pause_ns_ <= kWatchPauseMaxNs << 10) watch_pause_ns_ *= 2;
  const std::uint64_t until = rank_.loop().exact_now_ns() + std::min(watch_pause_ns_, kWatchPauseMaxNs);
  look_at_ns_ = std::min(until, std::max(engine_.deadline_ns(), rank_.loop().now_ns() + 1));
  rank_.loop().timers().arm(look_timer_, look_at_ns_);
}

bool TcaTransport::depends_on(std::uint32_t peer) const noexcept {
  const Peer& to = peers_[peer];
  if (!to.queue.empty() || !to.unconfirmed.empty() || to.asked > 0 || to.moves > 0) return true;
  return to.sent != std::atomic_ref(area_.credit(peer).count).load(std::memory_order_acquire);  // as in pump()
}

/// The peer's program has ended: what it has not taken, nobody will, and nobody answers. What it has sent before is
/// here.
void TcaTransport::end_with_finished(std::uint32_t peer) noexcept {
  receive(peer, state_of(peer));
  confirm(peer, state_of(peer));
  if (peer != rank_.id() && depends_on(peer))
    rank_.core().peer_lost({peer, "its program has ended", Loss::Kind::ended});
}

/// Of an operation with a lost peer. A batch on its way may be reading from its buffer: then it ends with that.
void TcaTransport::end_lost(Operation& operation) noexcept {
  for (Batch* batch : {&batches_[open_batch_], &batches_[1 - open_batch_]})
    if (!batch->chain.empty()) return batch->puts.push_back(&operation);
  finish(operation, Errc::peer_lost);
}

void TcaTransport::drop_queue(Peer& to, std::error_code why) noexcept {
  while (!to.queue.empty()) {
    Operation* operation = to.queue.front().operation;
    to.queue.pop_front();
    --queued_;
    if (operation != nullptr) finish(*operation, why);
  }
}

/// Of what this peer was asked for.
void TcaTransport::end_asked(std::uint32_t peer, std::error_code why) noexcept {
  for (std::uint32_t index = 0; index < asked_.size() && state_of(peer).asked > 0; ++index) {
    Operation* operation = asked_[index].operation;
    if (operation == nullptr || operation->remote.rank != peer) continue;
    asked_[index].operation = nullptr;
    free_asked_.push_back(index);
    --state_of(peer).asked;
    finish(*operation, why);
  }
}

/// What it has under way to here, if it lives, its device finds closed, or nobody looks at.
void TcaTransport::peer_lost(std::uint32_t peer) noexcept {
  device_->store(&area_of(peer).credit_request(rank_.id()).count, kGivenUp);
  device_->given_up(peer);
  Peer& lost = state_of(peer);
  if (!lost.queue.empty() && lost.queue.front().position > 0)
    if (Operation* begun = std::exchange(lost.queue.front().operation, nullptr); begun != nullptr) end_lost(*begun);
  drop_queue(lost, Errc::peer_lost);
  while (!lost.unconfirmed.empty()) {
    Operation* operation = lost.unconfirmed.front().operation;
    lost.unconfirmed.pop_front();
    end_lost(*operation);
  }
  end_asked(peer, Errc::peer_lost);
  end_waiting_moves(peer);  // the others end when the device has let go of their buffers
  lost.payload_bytes = 0;
  lost.payload = {};
}

}  // namespace coracle::internals::tca
