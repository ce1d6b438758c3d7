// Signals, atomics and failures of operations on memory at hand.
#include "runtime/rank/rank_core.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/exposed_places.hpp"
#include "runtime/rank/flag_wait.hpp"
#include "runtime/rank/memory_domain.hpp"
#include "runtime/rank/read_exposures.hpp"

namespace coracle::internals {
namespace {

/// copy_now() tells no owner of these, since most have none; those of handles, which start() did not do at once, do.
/// (Others may be gone when it returns.)
bool ends_untold(const Operation& operation) noexcept {
  return operation.verb == Operation::Verb::get ||
         (operation.verb == Operation::Verb::put && operation.signal_add == 0);
}

}  // namespace

struct RankCore::Rarely {
  FlagWaits flag_waits;
  ReadExposures read_exposures;
  std::optional<ExposedPlaces> exposed_places;  // made at first use
};

RankCore::RankCore(Rank& rank, const JobRegion& region, std::uint32_t id, EventLoop& loop)
    : rank_(rank),
      region_(region),
      id_(id),
      size_(region.shape().size),
      loop_(loop),
      addresses_(region, false, false),
      routes_(region, loop),
      peers_(id),
      signal_waits_(loop, peers_),
      own_segment_(region, id),
      rarely_(new Rarely{FlagWaits(loop, peers_), {}, {}}),
      flag_waits_(&rarely_->flag_waits) {
  set_slow_path(kTells, loop.events() != nullptr);
  const Placement placement = region.shape().placement;
  if (placement == Placement::sim) flag_waits_->always_announce();
  // Where ranks outnumber cores they sleep often, and each sleep would pay for the fence.
  if (placement == Placement::sim || region.shape().idle.spins == 0) return;
  const FenceOfAll fence(placement);
  if (fence.works()) flag_waits_->fence_before_sleep(fence);
}

RankCore::~RankCore() = default;

ReadExposures& RankCore::read_exposures() noexcept {
  return rarely_->read_exposures;
}

void RankCore::wake(std::uint32_t rank) noexcept {
  if (region_.shape().placement == Placement::sim) [[unlikely]]
    transport().wake(rank);
  else
    region_.block(rank).doorbell.ring();
}

void RankCore::set_transport(std::unique_ptr<Transport> transport, bool by_load_store, bool shares_memory) {
  addresses_ = AddressMap(region_, by_load_store, shares_memory);
  routes_.set_local(std::move(transport));
}

ExposedPlaces& RankCore::exposed_places() noexcept {
  std::optional<ExposedPlaces>& places = rarely_->exposed_places;
  if (!places) places.emplace(region_.block(id_).exposed, own_segment_.begin(), own_segment_.heap());
  return *places;
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

bool RankCore::put_and_signal_now(Operation& operation) noexcept {
  std::byte* target = addresses_.reach_lasting(operation.remote, operation.bytes);
  std::byte* signal = addresses_.reach_lasting(operation.signal, sizeof(std::uint64_t));
  if (target == nullptr || signal == nullptr) {
    if (operation.signal.rank < region_.shape().size) return false;
    operation.finish(Errc::no_such_peer);  // transports take it for one of the target's
    return true;
  }
  if (operation.bytes > 0) std::memcpy(target, operation.local, operation.bytes);
  local::raise_signal(signal, operation.signal_add, region_.block(operation.signal.rank).doorbell);
  operation.finish();
  return true;
}

bool RankCore::perform_atomic_now(Operation& operation) noexcept {
  std::byte* place = addresses_.reach_lasting(operation.remote, operation.width);
  if (place == nullptr) return false;
  if (!local::is_aligned(place, operation)) {
    operation.finish(Errc::misaligned);
    return true;
  }
  local::perform_atomic(operation, place);
  operation.finish();
  return true;
}

void RankCore::start_slowly(Operation& operation) noexcept {
  if ((slow_path_ & kTells) != 0) operation.begin_telling(*loop_.events());
  if ((slow_path_ & kLooks) != 0) return start_looking(operation);
  const bool tells_nobody = ends_untold(operation);
  if (operation.verb == Operation::Verb::request || !copy_now(operation)) return submit(operation);
  if (tells_nobody) operation.end_telling();
}

void RankCore::start_looking(Operation& operation) noexcept {
  if (peers_.lost(static_cast<std::uint32_t>(operation.peer()))) return operation.finish(Errc::peer_lost);
  if (device_memory_ != nullptr && device_memory_->concerns(operation)) return device_memory_->start(operation);
  if (operation.verb == Operation::Verb::request) return submit(operation);
  const bool tells_nobody = ends_untold(operation);
  if (!copy_now(operation)) return submit(operation);
  if (tells_nobody) operation.finish();
}

void RankCore::throw_failure(const Operation& operation) const {
  throw Error::of_operation(operation.outcome(), operation.what(), static_cast<int>(id_), operation.peer(),
                            describe_failure(operation));
}

std::string RankCore::describe_failure(const Operation& operation) const {
  const std::error_code code = operation.outcome();
  const int peer = operation.peer();
  if (operation.verb == Operation::Verb::request) {  // which has no place
    const RemoteAddress whole{0, static_cast<std::uint32_t>(peer), RemoteAddress::kWholeMemory};
    const bool is_of_rank =
        code == Errc::peer_lost || code == Errc::no_such_peer || code.category() == std::generic_category();
    return is_of_rank ? describe_failure(code, peer, whole, operation.bytes) : std::string();
  }
  if (operation.signal_add > 0) {
    if (code == Errc::unsupported && operation.signal.rank != operation.remote.rank)
      return fmt::format("its place is at rank {} and its signal at rank {}: those of other nodes must be at one rank",
                         operation.remote.rank, operation.signal.rank);
    const bool is_of_signal = operation.bytes > 0 && !addresses_.check(operation.remote, operation.bytes) &&
                              addresses_.check(operation.signal, sizeof(std::uint64_t));
    if (is_of_signal) return "its signal: " + describe_failure(code, peer, operation.signal, sizeof(std::uint64_t));
  }
  return describe_failure(code, peer, operation.remote, operation.bytes);
}

std::string RankCore::describe_failure(std::error_code code, int peer, const RemoteAddress& remote,
                                       std::size_t bytes) const {
  if (code == Errc::peer_lost) {
    const Loss* loss = peers_.find(static_cast<std::uint32_t>(peer));
    return loss != nullptr ? loss->reason : std::string();
  }
  if (code == Errc::device_failed || code == Errc::unsupported)
    return device_memory_ != nullptr ? device_memory_->last_failure() : std::string();
  if (code.category() == std::generic_category())
    return peers_.shortage(static_cast<std::uint32_t>(peer), code.value());
  const bool of_place =
      code == Errc::out_of_segment || code == Errc::no_such_peer || code == Errc::misaligned || code == Errc::slab_gone;
  return of_place ? addresses_.describe(remote, bytes) : std::string();
}

void RankCore::peer_lost(Loss loss) {
  const std::uint32_t peer = loss.peer;
  CORACLE_ASSERT(peer != id_ && peer < region_.shape().size, "rank {} of {} lost rank {}", id_, region_.shape().size,
                 peer);
  if (!peers_.note(loss)) return;
  set_slow_path(kLooks, true);
  transport_to(peer).peer_lost(peer);
  peers_.observers().tell(loss);
}

namespace local {

void raise_signal(std::byte* place, std::uint64_t add, Doorbell& doorbell) noexcept {
  // seq_cst: the owner's acquire load sees the data put before; and it is ordered before ring()'s load (see Doorbell).
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(place)).fetch_add(add, std::memory_order_seq_cst);
  doorbell.ring();
}

}  // namespace local
}  // namespace coracle::internals
