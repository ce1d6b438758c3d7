// The sender's side of rendezvous, and the buffers that messages go through.
#include "runtime/messages/rendezvous.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/rank/memory_domain.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/read_exposures.hpp"
#include "runtime/team/message_events.hpp"

namespace coracle::internals {
namespace {

/// Bytes of a piece: so that the receiver copies one while the sender packs the next, and waits for little at first.
std::size_t piece_bytes(std::size_t bytes) noexcept {
  constexpr std::size_t kUnit = 4096;
  constexpr std::size_t kShort = 4 * kUnit;  // shorter ones cost more messages than they gain
  const std::size_t part = std::min(bytes / 4, std::max(bytes / 8, kShort));
  return std::clamp(part / kUnit * kUnit, kUnit, BounceBuffers::kBufferBytes);
}

}  // namespace

void BounceBuffer::give_back() noexcept {
  of_->give_back(data_);
}

void BounceBuffers::give_back(std::byte* data) noexcept {
  free_.push_back(data);  // never more than were reserved
  freed_.set();
}

BounceBuffer BounceBuffers::try_take(std::size_t leaving) {
  if (!made_) [[unlikely]]
    make();
  if (free_.size() <= leaving) return {};
  std::byte* data = free_.back();
  free_.pop_back();
  return {*this, data};
}

BounceBuffer BounceBuffers::try_take_for_packed() {
  return try_take(kLeftForPieces);
}

Task<BounceBuffer> BounceBuffers::take() {
  for (;;) {
    if (BounceBuffer slot = try_take(0)) co_return slot;
    freed_.reset();
    co_await uninterrupted(freed_);
  }
}

void BounceBuffers::make() {
  if (memory_ == nullptr) {
    own_ = std::make_unique_for_overwrite<std::byte[]>(kBytes);
    memory_ = own_.get();
  }
  free_.reserve(kBuffers);
  // The one that was given back last is taken first: it is the warmest.
  for (std::size_t slot = kBuffers; slot-- > 0;) free_.push_back(memory_ + slot * kBufferBytes);
  made_ = true;
}

RendezvousSends::RendezvousSends(Rank& rank, const RendezvousHandlers& handlers, const RendezvousScheme& scheme,
                                 MessageRooms& rooms)
    : rank_(rank),
      handlers_(handlers),
      scheme_(scheme),
      rooms_(rooms),
      bounce_buffers_(rank.core().region().bounce_memory(rank.id())) {}

RendezvousSends::~RendezvousSends() {
  CORACLE_ASSERT(offered_.empty(), "a rank ended while {} sends wait", offered_.size());
}

bool is_beside(const Rank& rank, std::uint32_t peer) noexcept {
  return rank.placement() != Placement::sim && rank.node_of(peer) == rank.node();
}

bool shares_addresses(const Rank& rank, std::uint32_t peer) noexcept {
  return is_beside(rank, peer) && rank.placement() != Placement::process;
}

std::byte* RendezvousSends::room_for(const MessageSource& source, std::uint32_t peer, bool is_short) noexcept {
  const bool may_be = !source.is_scattered() && !is_short && source.bytes() >= MessageRooms::kMessageBytesMin &&
                      source.bytes() <= MessageRooms::kRoomBytes && peer != rank_.id() && is_beside(rank_, peer) &&
                      rank_.loop().spins() && scheme_ == RendezvousScheme::automatic &&
                      !is_on_device(rank_.core(), source);
  if (!may_be || (shares_addresses(rank_, peer) && !rooms_.cold_reads().should_be_copied())) return nullptr;
  return rooms_.take();
}

Task<> RendezvousSends::offer(Envelope envelope, MessageSource source, std::uint32_t peer, bool is_short) {
  const std::uint64_t serial = ++serial_;
  std::byte* const room = room_for(source, peer, is_short);
  if (room != nullptr) {
    if (shares_addresses(rank_, peer)) written_memory_.prepare(source.span());
    read_part(source, 0, {room, source.bytes()});
    source = MessageSource(std::span<const std::byte>(room, source.bytes()));
  }
  PendingSend offered(rank_.core(), peer, *this, serial, source);
  std::vector<std::byte> layout;
  ReadyToSend offer = describe(offered, peer, layout);
  offered.is_short = offer.is_short = is_short;
  offer.is_handed = room != nullptr;
  offer.is_attended = attends_;
  offered.taken.explain({WaitKind::send, envelope.team, envelope.tag});
  // What is scattered goes to other nodes in pieces, which this rank sends; of what is on a GPU they need the layout.
  const ReadExposure exposure(rank_.core().read_exposures(), offer.on_device() ? std::span<const std::byte>(layout)
                                                             : source.is_scattered() ? std::span<const std::byte>()
                                                                                     : source.span());
  offered_.emplace(serial, &offered);
  const SendTold told(rank_.loop().events(), envelope, peer, source.bytes());
  std::exception_ptr failure;
  try {
    co_await rank_.request(peer, handlers_.offer, std::as_bytes(std::span(&offer, 1)), envelope.place(), envelope.tag);
    co_await offered.taken;
  } catch (...) {
    failure = std::current_exception();
  }
  if (offered.supply_ended) co_await uninterrupted(*offered.supply_ended);
  offered_.erase(serial);
  if (room != nullptr && !failure && offered.end == RendezvousEnd::withdrawn) rooms_.put_back(room);
  if (failure) std::rethrow_exception(failure);
  if (offered.end == RendezvousEnd::withdrawn) co_await yield();  // throws: it was cancelled
  if (offered.end == RendezvousEnd::failed)
    throw Error::of_operation(Errc::device_failed, "send", static_cast<int>(rank_.id()), static_cast<int>(peer),
                              "a GPU that the message lies on, or should go to, has failed: the receiver's error tells "
                              "more");
}

void RendezvousSends::count_offered(std::uint64_t more) noexcept {
  std::atomic<std::uint64_t>& bytes = rank_.core().region().block(rank_.id()).offered_bytes;
  // relaxed: only this rank writes it, and others only estimate by it.
  bytes.store(bytes.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

ReadyToSend RendezvousSends::describe(PendingSend& offered, std::uint32_t peer, std::vector<std::byte>& layout) {
  // Measured: of shorter blocks the kernel copies fewer in the time than two copies by hand take.
  constexpr std::size_t kKernelBlockBytes = 2048;
  const MessageSource& source = offered.shared.source();
  ReadyToSend offer;
  offer.bytes = source.bytes();
  offer.serial = offered.serial;
  offer.address = reinterpret_cast<std::uint64_t>(source.origin());
  if (shares_addresses(rank_, peer)) offer.shared = &offered.shared;
  if (is_on_device(rank_.core(), source)) {
    const RemoteAddress lowest = rank_.core().device_memory()->place_of(source.lowest());
    offer.device_of = lowest.rank;
    offer.device_segment = lowest.segment;
    offer.address = lowest.offset + static_cast<std::uint64_t>(source.origin() - source.lowest());
  }
  if (!source.is_scattered()) {
    if (offer.shared != nullptr && !offer.on_device()) written_memory_.prepare(source.span());
    return offer;
  }
  const ScatteredSource scattered = source.scattered();
  offer.count = scattered.count;
  if (offer.shared != nullptr || (!is_beside(rank_, peer) && !offer.on_device())) return offer;
  if (offer.on_device() || scheme_ == RendezvousScheme::cma ||
      (scheme_ == RendezvousScheme::automatic &&
       scattered.layout.size() / scattered.layout.block_count() >= kKernelBlockBytes)) {
    layout = scattered.layout.encode();
    offer.layout_address = reinterpret_cast<std::uint64_t>(layout.data());
    offer.layout_bytes = static_cast<std::uint32_t>(layout.size());
  }
  return offer;
}

void RendezvousSends::PendingSend::cancelled(void* offered) {
  auto& mine = *static_cast<PendingSend*>(offered);
  if (std::exchange(mine.asked_back, true)) return;
  RendezvousSends& owner = mine.owner;
  owner.rank_.service().spawn(owner.ask_back(static_cast<std::uint32_t>(mine.taken.peer()), mine.serial));
}

Task<> RendezvousSends::ask_back(std::uint32_t peer, std::uint64_t serial) {
  co_await yield();  // not from inside the cancellation
  if (offered_.contains(serial)) co_await rank_.request(peer, handlers_.withdraw, {}, serial);
}

RendezvousSends::PendingSend* RendezvousSends::find(std::uint64_t serial, std::uint32_t peer) noexcept {
  const auto found = offered_.find(serial);
  // One that has ended by itself is not there any more.
  if (found == offered_.end() || found->second->taken.peer() != static_cast<int>(peer)) return nullptr;
  return found->second;
}

void RendezvousSends::on_taken(const Message& message) {
  if (message.argument(2) != 0) rooms_.get(reinterpret_cast<std::byte*>(message.argument(2)));
  PendingSend* offered = find(message.argument(0), message.source());
  if (offered == nullptr) return;
  offered->end = static_cast<RendezvousEnd>(message.argument(1));
  offered->taken.set();
}

// --- with the sender's help ---

void RendezvousSends::on_help(const Message& message) {
  if (find(message.argument(0), message.source()) == nullptr) return;
  if (message.argument_count() > 2)
    return rank_.service().spawn(
        help_process(message.argument(0), message.source(), message.argument(1), message.argument(2)));
  const auto* target = reinterpret_cast<const MessageTarget*>(message.argument(1));
  rank_.service().spawn(help(message.argument(0), target));
}

Task<> RendezvousSends::help(std::uint64_t serial, const MessageTarget* target) {
  // The loop turns now and then: the receiver may have ended with it meanwhile, and others want something, too.
  constexpr int kChunksAtOnce = 8;
  for (;;) {
    co_await yield();
    const auto found = offered_.find(serial);
    if (found == offered_.end()) co_return;
    for (int chunk = 0; chunk < kChunksAtOnce; ++chunk)
      if (!found->second->shared.copy_last(*target)) co_return;
  }
}

Task<> RendezvousSends::help_process(std::uint64_t serial, std::uint32_t peer, std::uint64_t target,
                                     std::uint64_t key) {
  for (;;) {
    co_await yield();  // as above
    const PendingSend* const offered = find(serial, peer);
    if (offered == nullptr) co_return;
    RankBlock& receiver = rank_.core().region().block(peer);
    if (!help_copy(receiver, key, offered->shared.source().span(), target)) co_return;
  }
}

// --- in pieces ---

void RendezvousSends::on_pull(const Message& message) {
  // Each packs while another's piece is being read.
  constexpr int kSendersMax = 3;
  PendingSend* offered = find(message.argument(0), message.source());
  if (offered == nullptr) return;
  offered->is_told = message.argument(2) != 0;
  const std::size_t bytes = offered->shared.source().bytes();
  const std::size_t pieces = (bytes + piece_bytes(bytes) - 1) / piece_bytes(bytes);
  offered->senders = static_cast<int>(std::min<std::size_t>(pieces, kSendersMax));
  const int senders = offered->senders;
  for (int sender = 0; sender < senders; ++sender)
    rank_.service().spawn(send_pieces(message.argument(0), message.source(), message.argument(1)));
}

Task<> RendezvousSends::send_pieces(std::uint64_t serial, std::uint32_t peer, std::uint64_t arriving) {
  co_await yield();  // not from inside a handler
  const BounceBuffer buffer = co_await bounce_buffers_.take();
  try {
    // After every wait the message may be gone, with its receiver.
    for (;;) {
      PendingSend* offered = find(serial, peer);
      if (offered == nullptr) co_return;
      const MessageSource& source = offered->shared.source();
      const std::uint64_t position = offered->next_piece;
      if (position == source.bytes()) {
        if (--offered->senders == 0 && !offered->is_told) offered->taken.set();
        co_return;
      }
      const std::span piece(buffer.data(), std::min(piece_bytes(source.bytes()), source.bytes() - position));
      offered->next_piece += piece.size();
      read_part(source, position, piece);
      co_await rank_.request(peer, handlers_.piece, piece, arriving, position);
    }
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;  // then the send has ended, too
  }
}

// --- kept by the receiver ---

void RendezvousSends::on_want(const Message& message) {
  const PendingSend* offered = find(message.argument(0), message.source());
  if (offered != nullptr && offered->is_short) rank_.service().spawn(supply(message.argument(0), message.source()));
}

Task<> RendezvousSends::supply(std::uint64_t serial, std::uint32_t peer) {
  co_await yield();  // not from inside a handler
  PendingSend* offered = find(serial, peer);
  if (offered == nullptr) co_return;
  const MessageSource& source = offered->shared.source();
  std::vector<std::byte> packed;
  if (source.is_scattered()) {
    packed.resize(source.bytes());
    read_part(source, 0, packed);
  }
  // The send waits for this: else its rank could end, and its receiver's, before this is looked at.
  struct UnderWay {
    explicit UnderWay(Event& of) : end(of) {}
    ~UnderWay() { end.set(); }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    Event& end;
  };
  const UnderWay under_way(offered->supply_ended.emplace());
  try {
    co_await rank_.request(peer, handlers_.supply,
                           source.is_scattered() ? std::span<const std::byte>(packed) : source.span(), serial);
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;  // then the send has ended, too
  }
}

}  // namespace coracle::internals
