// Signals, atomics and failures of operations on memory at hand.
#include "runtime/rank_core.hpp"

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/scattered/device_transfers.hpp"
#include "runtime/shortage.hpp"
#include "runtime/transfers.hpp"

namespace coracle {

RankCore::RankCore(const JobRegion& region, std::uint32_t id, EventLoop& loop) noexcept
    : region_(region), id_(id), loop_(loop), addresses_(region, false, false), signal_waits_(loop), flag_waits_(loop) {
  const Placement placement = region.shape().placement;
  if (placement == Placement::sim) flag_waits_.always_announce();
  // Where ranks outnumber cores they sleep often, and each sleep would pay for the fence.
  if (placement == Placement::sim || region.shape().idle.spins == 0) return;
  const FenceOfAll fence(placement);
  if (fence.works()) flag_waits_.fence_before_sleep(fence);
}

void RankCore::set_transport(Transport& transport, bool by_load_store, bool shares_memory) noexcept {
  transport_ = &transport;
  addresses_ = AddressMap(region_, by_load_store, shares_memory);
}

void RankCore::set_route(std::uint32_t node, Transport& transport) {
  by_node_.resize(region_.shape().nodes, transport_);
  by_node_[node] = &transport;
}

void RankCore::submit_remotely(Operation& operation) noexcept {
  const auto peer = static_cast<std::uint32_t>(operation.peer());
  if (peer >= region_.shape().size) return operation.finish(Errc::no_such_peer);
  transport_to(peer).submit(operation);
}

void RankCore::refuse_length(Operation& operation) noexcept {
  if (operation.verb == Operation::Verb::request)
    operation.finish(std::make_error_code(std::errc::message_size));
  else
    operation.finish(Errc::out_of_segment);
}

bool RankCore::copy_and_signal_now(Operation& operation) noexcept {
  if (operation.verb == Operation::Verb::put) {
    std::byte* target = addresses_.reach(operation.remote, operation.bytes);
    std::byte* signal = addresses_.reach(operation.signal, sizeof(std::uint64_t));
    if (target == nullptr || signal == nullptr) return false;
    if (operation.bytes > 0) std::memcpy(target, operation.local, operation.bytes);
    local::raise_signal(signal, operation.signal_add, region_.block(operation.signal.rank).doorbell);
  } else {
    std::byte* place = addresses_.reach(operation.remote, operation.width);
    if (place == nullptr) return false;
    if (reinterpret_cast<std::uintptr_t>(place) % operation.width != 0) {
      operation.finish(Errc::misaligned);
      return true;
    }
    local::perform_atomic(operation, place);
  }
  operation.finish();
  return true;
}

void RankCore::start_with_detours(Operation& operation) noexcept {
  if (peers_.lost(static_cast<std::uint32_t>(operation.peer()))) return operation.finish(Errc::peer_lost);
  if (device_transfers_ != nullptr && device_transfers_->concerns(operation))
    return device_transfers_->start(operation);
  if (operation.verb == Operation::Verb::request || !copy_now(operation)) submit(operation);
}

void RankCore::throw_failure(const Operation& operation) const {
  const auto code = operation.outcome();
  const bool has_place = operation.verb != Operation::Verb::request || code == Errc::peer_lost ||
                         code.category() == std::generic_category();
  throw Error::of_operation(
      code, operation.what(), static_cast<int>(id_), operation.peer(),
      has_place ? describe_failure(code, operation.peer(), operation.remote, operation.bytes) : std::string());
}

std::string RankCore::describe_failure(std::error_code code, int peer, const RemoteAddress& remote,
                                       std::size_t bytes) const {
  if (code == Errc::peer_lost) {
    const Loss* loss = peers_.find(static_cast<std::uint32_t>(peer));
    return loss != nullptr ? loss->reason : std::string();
  }
  if (code == Errc::device_failed || code == Errc::unsupported)
    return device_transfers_ != nullptr ? device_transfers_->last_failure() : std::string();
  if (code.category() == std::generic_category()) return shortage_remedy(code.value());
  const bool of_place = code == Errc::out_of_segment || code == Errc::no_such_peer || code == Errc::misaligned;
  return of_place ? addresses_.describe(remote, bytes) : std::string();
}

void RankCore::throw_lost(const char* what, std::uint32_t peer) const {
  const Loss* loss = peers_.find(peer);
  if (loss == nullptr && peers_.gave_up(peer)) {
    throw Error::of_operation(
        Errc::given_up, what, static_cast<int>(id_), static_cast<int>(peer),
        fmt::format("rank {} has ended a collective of this team early; its own error tells why", peer));
  }
  throw Error::of_operation(Errc::peer_lost, what, static_cast<int>(id_), static_cast<int>(peer),
                            loss != nullptr ? loss->reason : "another member of the team has lost it");
}

void RankCore::peer_lost(Loss loss) {
  const std::uint32_t peer = loss.peer;
  CORACLE_ASSERT(peer != id_ && peer < region_.shape().size, "rank {} of {} lost rank {}", id_, region_.shape().size,
                 peer);
  if (!peers_.note(loss)) return;
  has_detours_ = true;
  transport_to(peer).peer_lost(peer);
  peers_.watches().tell(loss);
}

namespace local {
namespace {

template <class T>
T atomically(Operation& operation, std::byte* place) noexcept {
  std::atomic_ref<T> target(*reinterpret_cast<T*>(place));
  if (operation.verb == Operation::Verb::fetch_add)
    return target.fetch_add(static_cast<T>(operation.operand),
                            std::memory_order_acq_rel);  // pairs with other ranks' atomics
  T expected = static_cast<T>(operation.compare);
  // acq_rel: pairs with other ranks' atomics on the same place; the failed case reads only.
  target.compare_exchange_strong(expected, static_cast<T>(operation.operand), std::memory_order_acq_rel,
                                 std::memory_order_acquire);
  return expected;
}

}  // namespace

void perform_atomic(Operation& operation, std::byte* place) noexcept {
  operation.result =
      operation.width == 4 ? atomically<std::uint32_t>(operation, place) : atomically<std::uint64_t>(operation, place);
}

void raise_signal(std::byte* place, std::uint64_t add, Doorbell& doorbell) noexcept {
  // seq_cst: the owner's acquire load sees the data put before; and it is ordered before ring()'s load (see Doorbell).
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(place)).fetch_add(add, std::memory_order_seq_cst);
  doorbell.ring();
}

}  // namespace local
}  // namespace coracle
