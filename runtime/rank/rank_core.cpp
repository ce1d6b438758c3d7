// Signals, atomics and failures of operations on memory at hand.
#include "runtime/rank/rank_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/segment.hpp"
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

std::uint64_t room_for_slabs(std::uint64_t segment_bytes) noexcept {
  const std::uint64_t taken = TeamArea::kWorldBytes + (SlabTags::wanted() ? SlabTags::bytes_for(segment_bytes) : 0);
  return segment_bytes - std::min(taken, segment_bytes);
}

}  // namespace

struct RankCore::Rarely {
  struct Shortage {
    int error;
    std::string text;
  };

  FlagWaits flag_waits;
  SegmentHeap heap;
  std::vector<std::unique_ptr<Transport>> transports;
  ReadExposures read_exposures;
  std::unordered_map<std::uint32_t, Shortage> shortages;  // the latest, by peer
};

RankCore::RankCore(Rank& rank, const JobRegion& region, std::uint32_t id, EventLoop& loop)
    : rank_(rank),
      region_(region),
      id_(id),
      size_(region.shape().size),
      first_local_(region.first_rank()),
      locals_(region.ranks()),
      own_segment_(region.segment(id)),
      loop_(loop),
      addresses_(region, false, false),
      peers_(id),
      signal_waits_(loop, peers_),
      rarely_(new Rarely{FlagWaits(loop, peers_),
                         SegmentHeap(TeamArea::kWorldBytes, room_for_slabs(region.shape().segment_bytes)),
                         {},
                         {},
                         {}}),
      flag_waits_(&rarely_->flag_waits) {
  set_slow_path(kTells, loop.events() != nullptr);
  if (SlabTags::wanted()) rarely_->heap.use_marks({own_segment_, region.shape().segment_bytes});
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

void RankCore::note_shortage(std::uint32_t peer, int error, std::string text) {
  rarely_->shortages.insert_or_assign(peer, Rarely::Shortage{error, std::move(text)});
}

void RankCore::wake(std::uint32_t rank) noexcept {
  if (region_.shape().placement == Placement::sim) [[unlikely]]
    transport_->wake(rank);
  else
    region_.block(rank).doorbell.ring();
}

Transport& RankCore::remote_transport_to(std::uint32_t rank) const noexcept {
  return *by_node_[region_.node_of(rank)];
}

void RankCore::set_transport(std::unique_ptr<Transport> transport, bool by_load_store, bool shares_memory) {
  transport_ = transport.get();
  addresses_ = AddressMap(region_, by_load_store, shares_memory);
  add_transport(std::move(transport));
}

void RankCore::add_transport(std::unique_ptr<Transport> transport) {
  loop_.add_poller(*transport);
  rarely_->transports.push_back(std::move(transport));
}

bool RankCore::leave() noexcept {
  bool left = true;
  for (const auto& transport : rarely_->transports) left &= transport->leave();
  return left;
}

void RankCore::end_transports() noexcept {
  for (auto& all = rarely_->transports; !all.empty(); all.pop_back()) loop_.remove_poller(*all.back());
}

SegmentHeap& RankCore::heap() noexcept {
  return rarely_->heap;
}

std::uint64_t RankCore::allocate_offset(std::size_t bytes) {
  const std::uint64_t offset = rarely_->heap.allocate(bytes);
  if (offset != SegmentHeap::kNone) return offset;
  throw Error(Errc::segment_full,
              fmt::format("no room for {} bytes in its segment ({} of {} bytes in use); start with a larger one: "
                          "`coracle run --segment 4G ...`",
                          bytes, rarely_->heap.used_bytes(), rarely_->heap.capacity_bytes()));
}

RemoteAddress RankCore::allocate(std::size_t bytes) {
  return {rarely_->heap.mark(allocate_offset(bytes)), id_, RemoteAddress::kOwnSegment};
}

Slab<std::byte> RankCore::allocate_raw(std::size_t bytes) {
  const std::uint64_t offset = allocate_offset(bytes);
  return {rarely_->heap, own_segment_ + offset, bytes,
          Remote<std::byte>(RemoteAddress{offset, id_, RemoteAddress::kOwnSegment})};
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
    std::byte* target = addresses_.reach_lasting(operation.remote, operation.bytes);
    std::byte* signal = addresses_.reach_lasting(operation.signal, sizeof(std::uint64_t));
    if (target == nullptr || signal == nullptr) {
      if (operation.signal.rank < region_.shape().size) return false;
      operation.finish(Errc::no_such_peer);  // transports take it for one of the target's
      return true;
    }
    if (operation.bytes > 0) std::memcpy(target, operation.local, operation.bytes);
    local::raise_signal(signal, operation.signal_add, region_.block(operation.signal.rank).doorbell);
  } else {
    std::byte* place = addresses_.reach_lasting(operation.remote, operation.width);
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
    return describe_shortage(static_cast<std::uint32_t>(peer), code.value());
  const bool of_place =
      code == Errc::out_of_segment || code == Errc::no_such_peer || code == Errc::misaligned || code == Errc::slab_gone;
  return of_place ? addresses_.describe(remote, bytes) : std::string();
}

std::string RankCore::describe_shortage(std::uint32_t peer, int error) const {
  const auto found = rarely_->shortages.find(peer);
  return found != rarely_->shortages.end() && found->second.error == error ? found->second.text
                                                                           : shortage_remedy(error);
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
