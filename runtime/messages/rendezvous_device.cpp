// Rendezvous with a GPU's memory at either end: its engines copy. What lies on a GPU is fetched as a get would; what
// comes in pieces goes through pinned buffers.

#include <cstdint>
#include <cstring>
#include <exception>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/messages/rendezvous.hpp"
#include "runtime/rank/exchange.hpp"
#include "runtime/rank/memory_domain.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

Task<> land_piece(MemoryDomain& devices, DeviceBuffer buffer, std::size_t bytes, std::uint64_t position,
                  MessageTarget target) {
  const Layout plain = Layout::bytes(static_cast<std::int64_t>(target.bytes()));
  co_await devices.unpack(buffer.span().first(bytes), position, target.scattered_or(plain));
}

}  // namespace

bool is_of_device(const RankCore& core, const std::byte* address) noexcept {
  return core.device_memory()->covers(address);
}

Task<> copy_to_device(RankCore& core, std::span<const std::byte> payload, const MessageTarget& target) {
  const Layout source = Layout::bytes(static_cast<std::int64_t>(payload.size()));
  const Layout plain = Layout::bytes(static_cast<std::int64_t>(target.bytes()));
  const ScatteredTarget to = target.scattered_or(plain);
  const ScatteredSource from{payload.data(), source};
  co_await core.device_memory()->copy(to, from, payload.size());
}

/// None: both ends lie in host memory.
std::optional<RendezvousScheme> Rendezvous::device_scheme(const ReadyToSend& offer, const MessageTarget& target) const {
  if (offer.on_device()) return RendezvousScheme::device;
  if (!is_on_device(rank_.core(), target)) return std::nullopt;
  if (offer.shared != nullptr) return RendezvousScheme::device;
  return offer.count == 0 ? RendezvousScheme::get : RendezvousScheme::device_pieces;
}

Task<> Rendezvous::copy_by_engines(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target) {
  constexpr Operation::Verb kGet = Operation::Verb::get;
  MemoryDomain* devices = rank_.core().device_memory();
  if (devices == nullptr)
    throw Error::of_operation(Errc::unsupported, "receive", static_cast<int>(rank_.id()), static_cast<int>(peer),
                              "the message lies on a GPU, and this rank has opened none (Gpu::open, at all ranks)");
  const Layout plain = Layout::bytes(static_cast<std::int64_t>(offer.bytes));
  const ScatteredTarget to = target.scattered_or(plain);
  if (!offer.on_device()) co_return co_await devices->copy(to, offer.shared->source().scattered_or(plain), offer.bytes);
  const RemoteAddress origin{offer.address, offer.device_of, offer.device_segment};
  if (offer.count == 0) co_return co_await devices->transfer(kGet, to, origin, plain, 1, offer.bytes);
  if (offer.shared != nullptr) {
    const Layout& there = offer.shared->source().scattered().layout;
    co_return co_await devices->transfer(kGet, to, origin, there, offer.count, offer.bytes);
  }
  const Layout there = co_await ask_layout(offer, peer);
  co_await devices->transfer(kGet, to, origin, there, offer.count, offer.bytes);
}

/// By messages, which go where the kernel does not let processes read each other's memory, too.
Task<Layout> Rendezvous::ask_layout(ReadyToSend offer, std::uint32_t peer) {
  std::vector<std::byte> encoded(offer.layout_bytes);
  const Layout plain = Layout::bytes(offer.layout_bytes);
  const RemoteAddress there{offer.layout_address, peer, RemoteAddress::kWholeMemory};
  const ScatteredTarget here{encoded.data(), plain};
  co_await rank_.local<scattered::Exchange>().get(there, plain, 1, here, encoded.size());
  co_return Layout::decode(encoded);
}

Task<> Rendezvous::pull_to_device(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target) {
  PromiseBase& self = co_await this_coroutine();
  Scope landings(self.loop(), &self.scope());
  std::exception_ptr failure;
  try {
    co_await pull(offer, peer, target, &landings);
  } catch (...) {
    failure = std::current_exception();
  }
  const std::exception_ptr landed = co_await join_quietly(landings);  // the engines write to the target until then
  if (!failure) failure = landed;
  if (failure) std::rethrow_exception(failure);
}

/// The piece is gone when its handler returns.
void Rendezvous::land(Arriving& arriving, std::uint64_t position, std::span<const std::byte> piece) {
  static_assert(BounceBuffers::kBufferBytes <= DeviceBuffer::kBytes);
  MemoryDomain& devices = *rank_.core().device_memory();
  try {
    DeviceBuffer buffer = devices.accelerator().buffer();
    std::memcpy(buffer.span().data(), piece.data(), piece.size());
    arriving.landings->spawn(land_piece(devices, std::move(buffer), piece.size(), position, arriving.target));
  } catch (...) {  // no memory for a buffer
    if (!arriving.failure) arriving.failure = std::current_exception();
  }
}

}  // namespace coracle::internals
