// The protocol. A header is answered once: by done, by a refusal, or by the data that was asked for.
#include "runtime/rank/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/rank/memory_domain.hpp"
#include "runtime/rank/read_exposures.hpp"

namespace coracle::internals::scattered {
namespace {

/// A code that a peer may send; for anything else it must have a reason that we don't know.
std::error_code refusal_of(std::uint64_t word) noexcept {
  if (word == 0) return {};
  if (word == static_cast<std::uint64_t>(Errc::device_failed)) return Errc::device_failed;
  return word == static_cast<std::uint64_t>(Errc::out_of_segment) ? Errc::out_of_segment : Errc::bad_input;
}

void refuse(const Message& message, Handler on_done, Errc reason) {
  if (message.argument_count() == 0) return;
  message.reply(on_done, {}, {message.argument(0), static_cast<std::uint64_t>(reason)});
}

std::uint32_t length_of(std::span<const std::byte> encoded) {
  CORACLE_ASSERT(encoded.size() >> 32 == 0, "a layout of {} bytes; at most 4 GiB", encoded.size());
  return static_cast<std::uint32_t>(encoded.size());
}

std::unique_ptr<std::byte[]> room_for(std::size_t bytes) {
  return std::make_unique_for_overwrite<std::byte[]>(bytes);
}

Task<> send(Rank& rank, std::uint32_t peer, Handler handler,
            const std::array<std::uint64_t, TransferHeader::kWords>& words, std::span<const std::byte> payload) {
  co_await rank.request(peer, handler, payload, words[0], words[1], words[2], words[3], words[4]);
}

}  // namespace

Exchange::Exchange(Rank& rank) : rank_(rank) {
  rank.core().peers().observers().add(*this);
}

Exchange::PendingTransfer::PendingTransfer(Exchange& of, const char* what, std::uint32_t peer)
    : exchange(of), serial(++of.serial_), ended(of.rank_.core(), what, peer) {
  of.asking_.emplace(serial, this);
}

// --- who asks ---

Task<> Exchange::put(ScatteredSource source, RemoteAddress origin, const Layout& layout, std::uint64_t count,
                     std::uint64_t bytes) {
  PendingTransfer asking(*this, "put", origin.rank);
  const std::vector<std::byte> encoded = layout.encode();
  MemoryDomain* devices = devices_of(source.origin, source.layout, source.count);
  const std::uint64_t first_max = devices == nullptr ? kPieceBytes : 0;
  const std::size_t first = static_cast<std::size_t>(std::min(bytes, first_max));
  const auto buffer = room_for(encoded.size() + first);
  const std::span payload(buffer.get(), encoded.size() + first);
  std::copy(encoded.begin(), encoded.end(), payload.begin());
  if (first > 0) pack(source, 0, payload.subspan(encoded.size()));
  const TransferHeader header{asking.serial, origin, length_of(encoded), count, bytes};
  std::exception_ptr failure;
  try {
    if (first == bytes) {
      co_await send(rank_, origin.rank, on_put, header.words(), payload);
    } else {
      Outgoing out{*this, origin.rank, on_piece, asking.serial, source, bytes, first, nullptr, devices};
      co_await with_scope(open_and_send, std::ref(out), std::span<const std::byte>(payload), std::cref(header));
    }
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) failure = std::current_exception();  // else the wait below says so
  }
  if (failure) {
    // A piece behind any end: the peer forgets the transfer.
    if (devices != nullptr && !rank_.lost(origin.rank))
      co_await rank_.request(origin.rank, on_piece, {}, asking.serial, ~std::uint64_t{0});
    std::rethrow_exception(failure);
  }
  co_await asking.ended;
  if (asking.refused) throw_refused(asking, Extent::of(origin, layout, count));
}

Task<> Exchange::get(RemoteAddress origin, const Layout& layout, std::uint64_t count, ScatteredTarget target,
                     std::uint64_t bytes) {
  PendingTransfer asking(*this, "get", origin.rank);
  asking.target = &target;
  asking.bytes = asking.missing = bytes;
  const std::vector<std::byte> encoded = layout.encode();
  const TransferHeader header{asking.serial, origin, length_of(encoded), count, bytes};
  std::optional<Scope> landings;
  if (devices_of(target.origin, target.layout, target.count) != nullptr) {
    PromiseBase& self = co_await this_coroutine();
    asking.landings = &landings.emplace(self.loop(), &self.scope());
  }
  std::exception_ptr failure;
  try {
    co_await ignore_loss(send(rank_, origin.rank, on_get, header.words(), encoded));  // the next line says so
    co_await asking.ended;
  } catch (...) {
    failure = std::current_exception();
  }
  if (landings) {  // the engines write to the target until then
    const std::exception_ptr landed = co_await join_quietly(*landings);
    if (!failure) failure = landed;
  }
  if (failure) std::rethrow_exception(failure);
  if (asking.refused) throw_refused(asking, Extent::of(origin, layout, count));
}

Task<> Exchange::ask(std::uint32_t peer, bool put, std::array<std::uint64_t, TransferHeader::kWords> words,
                     std::span<const std::byte> payload) {
  PendingTransfer asking(*this, put ? "put" : "get", peer);
  words[0] = asking.serial;
  co_await send(rank_, peer, put ? on_put : on_get, words, payload);
  co_await asking.ended;
  if (asking.refused) throw_refused(asking, {{words[1], peer, static_cast<std::uint32_t>(words[2] >> 32)}, 0, 0});
}

void Exchange::throw_refused(const PendingTransfer& asking, const Extent& extent) const {
  const int peer = asking.ended.peer();
  const auto bytes = static_cast<std::size_t>(extent.bytes);
  const std::string detail =
      asking.refused == Errc::bad_input       ? "the peer can't make sense of it, or has no memory for it"
      : asking.refused == Errc::device_failed ? "the peer's GPU, or its driver, has failed"
                                              : rank_.core().describe_failure(asking.refused, peer, extent.low, bytes);
  throw Error::of_operation(asking.refused, asking.ended.what(), static_cast<int>(rank_.id()), peer, detail);
}

/// The header first: messages keep their order.
Task<> Exchange::open_and_send(Scope& scope, Outgoing& out, std::span<const std::byte> payload,
                               const TransferHeader& header) {
  scope.spawn(send(out.exchange.rank_, out.peer, on_put, header.words(), payload));
  co_await send_pieces(scope, out);
}

Task<> Exchange::send_pieces(Scope& scope, Outgoing& out) {
  for (std::size_t i = 0; i < kPiecesAtOnce && out.position < out.bytes; ++i) scope.spawn(send_some(out));
  co_return;
}

Task<> Exchange::send_some(Outgoing& out) {
  Exchange& exchange = out.exchange;
  static_assert(DeviceBuffer::kBytes == kPieceBytes);
  std::unique_ptr<std::byte[]> own;
  std::optional<DeviceBuffer> pinned;
  if (out.devices == nullptr)
    own = room_for(kPieceBytes);
  else
    pinned.emplace(out.devices->accelerator().buffer());
  const std::span room(pinned ? pinned->span().data() : own.get(), kPieceBytes);
  while (out.position < out.bytes) {
    // The peer has refused the rest, or our memory has been withdrawn.
    out.stopped |= out.extent == nullptr ? exchange.asking_.at(out.serial)->refused.value() != 0
                                         : exchange.find(*out.extent, false) == nullptr;
    if (out.stopped) co_return;
    const std::uint64_t position = out.position;
    const std::span piece = room.first(static_cast<std::size_t>(std::min(out.bytes - position, kPieceBytes)));
    out.position += piece.size();
    if (out.devices == nullptr)
      pack(out.source, position, piece);
    else
      co_await out.devices->pack(out.source, position, piece);
    co_await exchange.rank_.request(out.peer, out.handler, piece, out.serial, position);
  }
}

Exchange::PendingTransfer* Exchange::find_asking(const Message& message) noexcept {
  if (message.argument_count() != 2) return nullptr;
  const auto found = asking_.find(message.argument(0));
  if (found == asking_.end() || found->second->ended.peer() != static_cast<int>(message.source())) return nullptr;
  return found->second;
}

void Exchange::on_done(Rank& rank, const Message& message) {
  PendingTransfer* asking = rank.local<Exchange>().find_asking(message);
  if (asking == nullptr) return;
  asking->refused = refusal_of(message.argument(1));
  // An end without the data is none.
  if (asking->missing > 0 && !asking->refused) asking->refused = Errc::bad_input;
  asking->ended.set();
}

void Exchange::on_data(Rank& rank, const Message& message) {
  PendingTransfer* asking = rank.local<Exchange>().find_asking(message);
  if (asking == nullptr || asking->target == nullptr || asking->missing == 0) return;
  const std::span<const std::byte> data = message.payload();
  const std::uint64_t position = message.argument(1);
  if (position > asking->bytes || data.size() > asking->bytes - position || data.size() > asking->missing) {
    asking->refused = Errc::bad_input;
    asking->missing = 0;
    return asking->ended.set();
  }
  asking->missing -= data.size();
  if (asking->landings == nullptr) {
    unpack(data, position, *asking->target);
  } else if (!data.empty()) {
    auto& exchange = rank.local<Exchange>();
    try {
      asking->landings->spawn(exchange.land_got(*asking->target, position, data.size(), exchange.buffered(data)));
    } catch (const std::exception&) {  // no memory for a buffer
      asking->refused = Errc::bad_input;
      asking->missing = 0;
    }
  }
  if (asking->missing == 0) asking->ended.set();
}

// --- who is asked ---

std::byte* Exchange::find(const Extent& extent, bool to_write) const noexcept {
  const RemoteAddress& low = extent.low;
  const auto bytes = static_cast<std::size_t>(extent.bytes);
  if (low.segment == RemoteAddress::kWholeMemory) {
    const bool exposed = !to_write && rank_.core().read_exposures().covers(low.offset, extent.bytes);
    return exposed ? reinterpret_cast<std::byte*>(low.offset) : nullptr;
  }
  if (Accelerator::holds(low)) {
    MemoryDomain* devices = rank_.core().device_memory();
    if (devices == nullptr || devices->accelerator().check(low, bytes)) return nullptr;
    return devices->accelerator().reach(low);
  }
  const AddressMap& addresses = rank_.core().addresses();
  return addresses.check(low, bytes) ? nullptr : reinterpret_cast<std::byte*>(addresses.address_there(low));
}

void Exchange::on_put(Rank& rank, const Message& message) {
  auto& exchange = rank.local<Exchange>();
  try {
    TransferRequest asked = TransferRequest::read(message.arguments(), message.payload(), rank.id());
    std::byte* low = exchange.find(asked.extent, true);
    if (low == nullptr) return refuse(message, on_done, Errc::out_of_segment);
    const bool on_device = Accelerator::holds(asked.extent.low);
    if (!on_device) unpack(asked.data, 0, {asked.extent.origin(low), asked.layout, asked.count});
    const std::uint64_t missing = asked.bytes - asked.data.size();
    if (asked.bytes == 0 || (missing == 0 && !on_device)) return message.reply(on_done, {}, {asked.serial, 0});
    const std::span<const std::byte> data = std::exchange(asked.data, {});
    const std::uint64_t serial = asked.serial;
    std::optional<DeviceBuffer> buffer;  // first: where there is none, nothing is begun
    if (on_device && !data.empty()) buffer.emplace(exchange.buffered(data));
    const std::pair key(message.source(), serial);
    exchange.incoming_.insert_or_assign(key, Incoming{std::move(asked), missing, ++exchange.incoming_number_});
    if (buffer) exchange.land(message.source(), serial, 0, data.size(), std::move(*buffer));
  } catch (const std::exception&) {  // malformed, or beyond our memory
    refuse(message, on_done, Errc::bad_input);
  }
}

void Exchange::on_piece(Rank& rank, const Message& message) {
  auto& exchange = rank.local<Exchange>();
  if (message.argument_count() != 2) return;
  const auto found = exchange.incoming_.find({message.source(), message.argument(0)});
  if (found == exchange.incoming_.end()) return;  // it has been refused
  TransferRequest& asked = found->second.asked;
  std::uint64_t& missing = found->second.missing;
  const std::span<const std::byte> data = message.payload();
  const std::uint64_t position = message.argument(1);
  std::byte* low = exchange.find(asked.extent, true);
  const bool fits = position <= asked.bytes && data.size() <= asked.bytes - position && data.size() <= missing;
  if (low == nullptr || !fits) {
    exchange.incoming_.erase(found);
    return refuse(message, on_done, fits ? Errc::out_of_segment : Errc::bad_input);
  }
  missing -= data.size();
  if (Accelerator::holds(asked.extent.low)) {
    try {
      if (!data.empty())
        exchange.land(message.source(), message.argument(0), position, data.size(), exchange.buffered(data));
    } catch (const std::exception&) {  // no memory for a buffer
      exchange.incoming_.erase({message.source(), message.argument(0)});
      refuse(message, on_done, Errc::bad_input);
    }
    return;
  }
  unpack(data, position, {asked.extent.origin(low), asked.layout, asked.count});
  if (missing > 0) return;
  exchange.incoming_.erase(found);
  message.reply(on_done, {}, {message.argument(0), 0});
}

void Exchange::on_get(Rank& rank, const Message& message) {
  auto& exchange = rank.local<Exchange>();
  try {
    TransferRequest asked = TransferRequest::read(message.arguments(), message.payload(), rank.id());
    std::byte* low = exchange.find(asked.extent, false);
    if (low == nullptr) return refuse(message, on_done, Errc::out_of_segment);
    if (asked.bytes == 0) return message.reply(on_done, {}, {asked.serial, 0});
    asked.data = {};
    if (asked.bytes > message.reply_bytes_max() || Accelerator::holds(asked.extent.low))
      return rank.service().spawn(ignore_loss(exchange.serve_get(message.source(), std::move(asked))));
    const auto bytes = static_cast<std::size_t>(asked.bytes);
    const auto buffer = room_for(bytes);
    pack({asked.extent.origin(low), asked.layout, asked.count}, 0, {buffer.get(), bytes});
    message.reply(on_data, {buffer.get(), bytes}, {asked.serial, 0});
  } catch (const std::exception&) {  // malformed, or beyond our memory
    refuse(message, on_done, Errc::bad_input);
  }
}

Task<> Exchange::serve_get(std::uint32_t peer, TransferRequest asked) {
  co_await yield();  // not from inside a handler
  std::byte* low = find(asked.extent, false);
  Outgoing out{*this,       peer, on_data,       asked.serial, {nullptr, asked.layout, asked.count},
               asked.bytes, 0,    &asked.extent, nullptr,      low == nullptr};
  if (low != nullptr) out.source.origin = asked.extent.origin(low);
  if (Accelerator::holds(asked.extent.low)) out.devices = rank_.core().device_memory();
  std::optional<Errc> failure;
  try {
    if (!out.stopped) co_await with_scope(send_pieces, std::ref(out));
    if (out.stopped) failure = Errc::out_of_segment;
  } catch (const Error& error) {
    if (out.devices == nullptr || error.code() == Errc::peer_lost) throw;
    failure = Errc::device_failed;
  }
  if (failure) co_await rank_.request(peer, on_done, {}, asked.serial, static_cast<std::uint64_t>(*failure));
}

// --- to a GPU's memory ---

MemoryDomain* Exchange::devices_of(const void* origin, const Layout& layout, std::uint64_t count) const {
  MemoryDomain* devices = rank_.core().device_memory();
  return devices != nullptr && devices->on_device(origin, layout, count) ? devices : nullptr;
}

/// At most kPieceBytes; the payload of a message is gone when its handler returns.
DeviceBuffer Exchange::buffered(std::span<const std::byte> data) const {
  if (data.size() > DeviceBuffer::kBytes) throw Error(Errc::bad_input, "a piece is longer than any that is sent");
  DeviceBuffer buffer = rank_.core().device_memory()->accelerator().buffer();
  std::memcpy(buffer.span().data(), data.data(), data.size());
  return buffer;
}

/// Of a put of a peer, of which `incoming_` knows.
void Exchange::land(std::uint32_t peer, std::uint64_t serial, std::uint64_t position, std::size_t bytes,
                    DeviceBuffer data) {
  ++incoming_.at({peer, serial}).landing;
  rank_.service().spawn(land_put(peer, serial, position, bytes, std::move(data)));
}

Task<> Exchange::land_put(std::uint32_t peer, std::uint64_t serial, std::uint64_t position, std::size_t bytes,
                          DeviceBuffer data) {
  const std::pair key(peer, serial);
  const Incoming& begun = incoming_.at(key);
  const std::uint64_t number = begun.number;
  // The entry may go while the engines work.
  const Layout layout = begun.asked.layout;
  const std::uint64_t count = begun.asked.count;
  const Extent extent = begun.asked.extent;
  MemoryDomain& devices = *rank_.core().device_memory();
  std::uint64_t answer = 0;
  try {
    std::byte* low = devices.accelerator().reach(extent.low);
    co_await devices.unpack(data.span().first(bytes), position, {extent.origin(low), layout, count});
  } catch (const Error&) {
    answer = static_cast<std::uint64_t>(Errc::device_failed);
  }
  const auto found = incoming_.find(key);
  if (found == incoming_.end() || found->second.number != number) co_return;  // its peer is lost, or has been answered
  --found->second.landing;
  if (answer == 0 && (found->second.missing > 0 || found->second.landing > 0)) co_return;
  incoming_.erase(found);
  co_await ignore_loss(rank_.request(peer, on_done, {}, serial, answer));
}

Task<> Exchange::land_got(ScatteredTarget target, std::uint64_t position, std::size_t bytes, DeviceBuffer data) {
  co_await rank_.core().device_memory()->unpack(data.span().first(bytes), position, target);
}

void Exchange::lost(const Loss& loss) noexcept {
  std::erase_if(incoming_, [&loss](const auto& entry) { return entry.first.first == loss.peer; });
}

}  // namespace coracle::internals::scattered
