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
      memory_(rank),
      losses_(rank),
      device_(std::move(device)),
      platform_(std::move(platform)),
      engine_(*device_, rank.loop().clock(), options),
      sender_(rank, memory_, *device_, engine_, *this),
      moves_(rank, memory_, *device_, engine_, sender_, *this),
      asked_(rank.size()),
      receiver_(rank, memory_, *device_, moves_, asked_, *this, *this) {
  engine_.set_events(rank.loop().events());
  const JobRegion& region = rank.core().region();
  if (rank.size() > PacketArea::kRanksMax || region.ranks() != rank.size())
    throw Error(Errc::unsupported, fmt::format("tca joins at most {} ranks, all on one node; this job has {} on {}",
                                               PacketArea::kRanksMax, rank.size(), rank.nodes()));
  CORACLE_ASSERT(region.shape().inbox_bytes >= PacketArea::bytes(rank.size()),
                 "inboxes of {} bytes; the job's maker must ask for {}", region.shape().inbox_bytes,
                 PacketArea::bytes(rank.size()));
}

TcaTransport::~TcaTransport() {
  rank_.loop().timers().disarm(*this);
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

void TcaTransport::finish(Operation& operation, std::error_code outcome) noexcept {
  --in_flight_;
  operation.finish(outcome);
}

// --- what is asked of this rank ---

void TcaTransport::submit(Operation& operation) noexcept {
  if (const std::error_code error = memory_.check(operation)) return operation.finish(error);
  ++in_flight_;
  switch (operation.verb) {
    case Operation::Verb::put:
      return moves_.put(operation);
    case Operation::Verb::request: {
      const auto peer = static_cast<std::uint32_t>(operation.peer());
      return send_message(peer, PacketType::request, static_cast<RequestOperation&>(operation).header,
                          {.source = static_cast<const std::byte*>(operation.local),
                           .bytes = operation.bytes,
                           .operation = &operation});
    }
    case Operation::Verb::get: {
      if (operation.bytes == 0) return finish(operation, {});
      auto* to = static_cast<std::byte*>(operation.local);
      const bool registered = memory_.is_registered(to, operation.bytes);
      return ask(
          operation,
          {.kind = PacketType::get,
           .words = 4,
           .word = {reinterpret_cast<std::uint64_t>(memory_.address_of(operation.remote)), operation.bytes,
                    registered ? reinterpret_cast<std::uint64_t>(to) : ~std::uint64_t{0}, operation.remote.segment}});
    }
    default: {
      const bool swaps = operation.verb == Operation::Verb::compare_swap;
      ask(operation, {.kind = PacketType::atomic,
                      .words = 5,
                      .word = {reinterpret_cast<std::uint64_t>(memory_.address_of(operation.remote)), operation.operand,
                               swaps ? operation.compare : 0,
                               operation.width | (swaps ? kComparesAndSwaps : 0U) |
                                   static_cast<std::uint64_t>(operation.modification.code()) << kModificationShift,
                               operation.remote.segment}});
    }
  }
}

bool TcaTransport::submit_strided(StridedOperation& put) noexcept {
  if (!moves_.takes(put)) return false;
  ++in_flight_;
  moves_.put_strided(put);
  return true;
}

void TcaTransport::ask(Operation& operation, PacketHeader header) noexcept {
  header.cookie = asked_.add(operation);
  sender_.send(operation.remote.rank, {.header = header});
}

/// `outgoing`: all but its header.
void TcaTransport::send_message(std::uint32_t peer, PacketType kind, const MessageHeader& header,
                                Outgoing outgoing) noexcept {
  outgoing.header.kind = kind;
  outgoing.header.words = static_cast<std::uint8_t>(header.argument_count);
  outgoing.header.handler = header.handler.to_wire();
  outgoing.header.cookie = outgoing.bytes;
  std::copy_n(header.arguments.begin(), header.argument_count, outgoing.header.word.begin());
  sender_.send(peer, std::move(outgoing));
}

void TcaTransport::reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept {
  if (rank_.lost(peer)) return;
  Outgoing outgoing;
  outgoing.owned.assign(payload.begin(), payload.end());
  outgoing.source = outgoing.owned.data();
  outgoing.bytes = payload.size();
  send_message(peer, PacketType::reply, header, std::move(outgoing));
}

// --- what happens meanwhile ---

bool TcaTransport::poll() noexcept {
  losses_.look();
  bool progress = engine_.poll();
  progress |= receiver_.receive();
  if (sender_.has_queued() || in_flight_ > 0) progress |= sender_.pump();
  sender_.flush();
  return progress;
}

bool TcaTransport::leave() noexcept {
  poll();
  return sender_.idle() && !engine_.busy();
}

void TcaTransport::look_after() noexcept {
  watch_pause_ns_ = kWatchPauseNs;
  const std::uint64_t time = rank_.loop().now_ns() + watch_pause_ns_;
  if (armed() && look_at_ns_ <= time) return;
  if (armed()) rank_.loop().timers().disarm(*this);
  look_at_ns_ = time;
  rank_.loop().timers().arm(*this, time);
}

/// Looks after what may be stuck. poll() is called then also when nothing happens.
void TcaTransport::fire() noexcept {
  engine_.poll();
  bool stuck = engine_.busy();
  for (std::uint32_t peer = 0; peer < rank_.size(); ++peer) {
    if (rank_.lost(peer) || !depends_on(peer)) continue;
    // acquire: pairs with the release at the end of that rank's program.
    if (rank_.core().region().block(peer).phase.load(std::memory_order_acquire) == RankPhase::finished) {
      end_with_finished(peer);
      continue;
    }
    stuck |= asked_.count(peer) > 0;
    stuck |= sender_.ask_for_credits(peer);
  }
  // Who only waits for an answer is woken by it. And in virtual time a job in which all wait for each other must come
  // to its end some time.
  const bool patient = platform_ == nullptr || engine_.busy() || watch_pause_ns_ <= kWatchPauseMaxNs << 10;
  if (armed() || !stuck || !patient) return;
  if (watch_pause_ns_ <= kWatchPauseMaxNs << 10) watch_pause_ns_ *= 2;
  const std::uint64_t until = rank_.loop().exact_now_ns() + std::min(watch_pause_ns_, kWatchPauseMaxNs);
  look_at_ns_ = std::min(until, std::max(engine_.deadline_ns(), rank_.loop().now_ns() + 1));
  rank_.loop().timers().arm(*this, look_at_ns_);
}

// --- losses ---

bool TcaTransport::depends_on(std::uint32_t peer) const noexcept {
  return sender_.depends_on(peer) || asked_.count(peer) > 0 || moves_.count(peer) > 0;
}

/// The peer's program has ended: what it has not taken, nobody will, and nobody answers. What it has sent before is
/// here.
void TcaTransport::end_with_finished(std::uint32_t peer) noexcept {
  receiver_.receive(peer);
  sender_.confirm(peer);
  if (peer != rank_.id() && depends_on(peer))
    rank_.core().peer_lost({peer, "its program has ended", Loss::Kind::ended});
}

/// What it has under way to here, if it lives, its device finds closed, or nobody looks at.
void TcaTransport::peer_lost(std::uint32_t peer) noexcept {
  device_->store(&memory_.area_of(peer).credit_request(rank_.id()).count, kGivenUp);
  device_->given_up(peer);
  sender_.lose(peer);
  asked_.take_all(peer, [this](Operation& operation) { finish(operation, Errc::peer_lost); });
  moves_.end_waiting(peer);  // the others end when the device has let go of their buffers
  receiver_.forget(peer);
}

void TcaTransport::packets_failed() noexcept {
  asked_.take_all(rank_.id(),
                  [this](Operation& operation) { finish(operation, std::make_error_code(std::errc::io_error)); });
  for (std::uint32_t peer = 0; peer < rank_.size(); ++peer)
    if (peer != rank_.id()) rank_.core().peer_lost({peer, engine_.last_failure()});
}

}  // namespace coracle::internals::tca
