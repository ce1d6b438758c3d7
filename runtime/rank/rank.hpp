// Rank: everything that a program of this job can do from here: memory that peers may reach, one-sided transfers,
// signals, atomics, messages and calls, and the team of all ranks. Nothing in the library is a global: everything hangs
// on the Rank.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "runtime/core/assert.hpp"
#include "runtime/core/byte_counts.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/remote.hpp"
#include "runtime/job/slab.hpp"
#include "runtime/rank/handle.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank_core.hpp"
#include "runtime/rank/rank_local.hpp"
#include "runtime/rank/transfer.hpp"
#include "runtime/rank/transfers.hpp"

namespace coracle::internals {

class JobRegion;
class Team;
class TeamCore;

/// Memory outside the segment that peers may reach while this lives; see Rank::expose.
template <class T>
class Exposed;

/// All calls from the rank's own thread. Buffers of transfers belong to the operation until it has finished.
class Rank {
 public:
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  /// Keeps this rank's processor busy for so long, as computation would: the loop does not turn meanwhile, so nothing
  /// that comes from peers is looked at (sleep_for would let the loop serve them). Spins; in `sim` it takes virtual
  /// time. For benchmarks and tests of ranks that are late.
  Task<> busy_for(std::chrono::nanoseconds duration);

  // --- who and where ---
  std::uint32_t id() const noexcept { return core_.id(); }
  std::uint32_t size() const noexcept { return core_.size(); }
  std::uint32_t node() const noexcept { return node_of(id()); }
  std::uint32_t nodes() const noexcept;
  std::uint32_t node_of(std::uint32_t rank) const noexcept;
  Placement placement() const noexcept;
  EventLoop& loop() const noexcept { return core_.loop(); }
  /// All ranks of the job.
  Team& world() noexcept { return *world_; }
  /// Scope of tasks that serve peers (handlers spawn into it). Cancelled when the job's program has ended everywhere.
  Scope& service() noexcept { return service_; }
  /// One object of type T (made by T(Rank&) at first use) that belongs to this rank: for layers built on the runtime.
  template <class T>
  T& local() {
    return locals_.get<T>(*this);
  }
  /// What the library knows of this rank; not for programs.
  RankCore& core() noexcept { return core_; }
  /// A place in this rank's own segment as a pointer.
  template <class T>
  T* own(Remote<T> place) const noexcept {
    const RemoteAddress& address = place.address();
    CORACLE_ASSERT(address.rank == id() && address.segment == RemoteAddress::kOwnSegment,
                   "not a place in the segment of rank {}: {}", id(), core_.addresses().describe(address, sizeof(T)));
    return reinterpret_cast<T*>(core_.own_segment().begin() + (address.offset & SlabTags::kOffsetMask));
  }

  // --- peers that are lost ---
  /// A lost peer (dead, silent for too long, out of reach) stays lost: every operation in flight to it and every later
  /// one fails with Errc::peer_lost.
  bool lost(std::uint32_t peer) const noexcept { return core_.peers().lost(peer); }
  /// All of them, in the order in which they were lost, with the reasons. Valid until the next is lost.
  std::span<const Loss> losses() const noexcept { return core_.peers().losses(); }
  /// `std::size_t known = co_await self.more_lost(known);` waits until more than `known` peers are lost.
  MoreLost more_lost(std::size_t known) noexcept { return {core_, known}; }

  // --- memory ---
  /// `count` value-initialised elements in this rank's segment. Throws Error (segment_full).
  template <class T>
  Slab<T> allocate(std::size_t count) {
    return core_.own_segment().allocate<T>(count);
  }
  /// `count` signals, each zero.
  Slab<Signal> allocate_signals(std::size_t count);
  /// Lets peers reach memory outside the segment. In `process` placement such transfers cost a system call and need the
  /// kernel's permission (process_vm_readv). Throws Error when too much is exposed already, or no such memory can be.
  template <class T>
  Exposed<T> expose(std::span<T> memory);
  template <class T>
  Exposed<T> expose(std::vector<T>& memory) {
    return expose(std::span<T>(memory));
  }
  /// The memory behind `place` when plain loads and stores reach it, else null. Valid as long as the peer's memory is.
  template <class T>
  T* reach(Remote<T> place, std::size_t count = 1) const noexcept {
    return reinterpret_cast<T*>(core_.addresses().reach(place.address(), byte_count(count, sizeof(T))));
  }

  // --- one-sided transfers, awaited: `co_await self.put(data, right);` ---
  /// Copies `source` to `target`; visible there when it returns. Throws Error (out_of_segment, ...).
  template <class T>
  Transfer put(std::span<const std::type_identity_t<T>> source, Remote<T> target) noexcept {
    return transfer<T>(Operation::Verb::put, "put", const_cast<T*>(source.data()), source.size(), target);
  }
  template <class T>
  ValuePut<T> put_value(const std::type_identity_t<T>& value, Remote<T> target) noexcept {
    return {core_, value, target};
  }
  /// Copies from `source` into `target`, which is filled when it returns.
  template <class T>
  Transfer get(Remote<T> source, std::span<std::type_identity_t<T>> target) noexcept {
    return transfer<T>(Operation::Verb::get, "get", target.data(), target.size(), source);
  }
  template <class T>
  ValueGet<T> get_value(Remote<T> source) noexcept {
    return {core_, source};
  }
  /// As put; then raises `signal` (of the target rank) by `add`: whoever sees it raised sees the data.
  template <class T>
  Transfer put_signal(std::span<const std::type_identity_t<T>> source, Remote<T> target, Remote<Signal> signal,
                      std::uint64_t add = 1) noexcept {
    Transfer operation = put(source, target);
    operation.signal = signal.address();
    operation.signal_add = add;
    return operation;
  }
  /// Raises a peer's signal without data.
  Transfer raise(Remote<Signal> signal, std::uint64_t add = 1) noexcept;
  /// As get; then raises `signal` of the source's rank: "I have taken it".
  template <class T>
  Task<> get_signal(Remote<T> source, std::span<std::type_identity_t<T>> target, Remote<Signal> signal,
                    std::uint64_t add = 1) {
    co_await get(source, target);
    co_await raise(signal, add);
  }
  /// Waits until a signal in this rank's own segment has reached `at_least`. Gives its value.
  SignalWait wait(Signal& signal, std::uint64_t at_least) noexcept { return {core_.signal_waits(), signal, at_least}; }
  /// The same for a signal that `from` will raise: throws Error (peer_lost) when that peer is lost before.
  GuardedSignalWait wait(Signal& signal, std::uint64_t at_least, std::uint32_t from) noexcept {
    return {core_.signal_waits(), signal, at_least, from};
  }

  // --- atomics: on places of 4 or 8 bytes, at multiples of their size. Each is one step to all ranks' atomics on that
  // place, but not to their puts and gets. What is done by one and seen by another orders what was done before it. All
  // but the first two give the old value. ---
  /// `T` here and in store, swap and compare_swap: any type of 4 or 8 bytes without padding but pointers.
  template <class T>
  Atomic<T> atomic_load(Remote<T> place) noexcept {
    return modify<T>(Modification::What::load, "atomic_load", place, T{});
  }
  template <class T>
  Transfer atomic_store(Remote<T> place, std::type_identity_t<T> value) noexcept {
    return detail::make_modification<Transfer, T>(core_, Modification::What::store, "atomic_store", place, value);
  }
  template <class T>
  Atomic<T> atomic_swap(Remote<T> place, std::type_identity_t<T> value) noexcept {
    return modify<T>(Modification::What::swap, "atomic_swap", place, value);
  }
  /// Stores `desired` where `expected` stands: the same bits, so that 0.0 is not -0.0.
  template <class T>
  Atomic<T> compare_swap(Remote<T> place, std::type_identity_t<T> expected, std::type_identity_t<T> desired) noexcept {
    return detail::make_atomic<Atomic<T>>(core_, Operation::Verb::compare_swap, "compare_swap", place, desired,
                                          expected);
  }
  /// Integers wrap around. Floating-point numbers are added in the order of coming, which changes from run to run.
  template <class T>
  Atomic<T> fetch_add(Remote<T> place, std::type_identity_t<T> addend) noexcept {
    static_assert(detail::is_atomic_number<T>, "fetch_add is for integers and floating-point numbers");
    if constexpr (std::is_floating_point_v<T>)
      return modify<T>(Modification::What::add, "fetch_add", place, addend);
    else
      return detail::make_atomic<Atomic<T>>(core_, Operation::Verb::fetch_add, "fetch_add", place, addend);
  }
  /// The smaller, or the larger, of both stays there. What is not a number changes nothing, and stays where it is.
  template <class T>
  Atomic<T> fetch_min(Remote<T> place, std::type_identity_t<T> value) noexcept {
    static_assert(detail::is_atomic_number<T>, "fetch_min is for integers and floating-point numbers");
    return modify<T>(Modification::What::min, "fetch_min", place, value);
  }
  template <class T>
  Atomic<T> fetch_max(Remote<T> place, std::type_identity_t<T> value) noexcept {
    static_assert(detail::is_atomic_number<T>, "fetch_max is for integers and floating-point numbers");
    return modify<T>(Modification::What::max, "fetch_max", place, value);
  }
  template <class T>
  Atomic<T> fetch_and(Remote<T> place, std::type_identity_t<T> bits) noexcept {
    static_assert(std::is_integral_v<T>, "fetch_and is for integers");
    return modify<T>(Modification::What::bit_and, "fetch_and", place, bits);
  }
  template <class T>
  Atomic<T> fetch_or(Remote<T> place, std::type_identity_t<T> bits) noexcept {
    static_assert(std::is_integral_v<T>, "fetch_or is for integers");
    return modify<T>(Modification::What::bit_or, "fetch_or", place, bits);
  }
  template <class T>
  Atomic<T> fetch_xor(Remote<T> place, std::type_identity_t<T> bits) noexcept {
    static_assert(std::is_integral_v<T>, "fetch_xor is for integers");
    return modify<T>(Modification::What::bit_xor, "fetch_xor", place, bits);
  }

  // --- transfers of scattered data, in every form of the contiguous ones ---
  /// Copies `source` to `count` repetitions of `layout` whose origin is `target`; the two sides have equally many
  /// bytes, in the packed orders of their layouts. All memory between the lowest and the highest byte must lie in the
  /// segment, else it throws Error (out_of_segment) and nothing is written. Buffers and layouts are referred to, also
  /// by the forms that are awaited later. Throws Error (bad_input) at once when bytes would lie 2^63 or more apart. A
  /// target that is not reached by load and store takes part in it: its loop must turn.
  template <class T>
  ScatteredTransfer put(const ScatteredSource& source, Remote<T> target, const Layout& layout,
                        std::uint64_t count = 1) {
    const ScatteredTarget local{const_cast<void*>(source.origin), source.layout, source.count};
    return {core_, Operation::Verb::put, local, target.address(), layout, count};
  }
  /// The same from there to here. No two bytes of the target may lie over each other.
  template <class T>
  ScatteredTransfer get(Remote<T> source, const Layout& layout, std::uint64_t count, const ScatteredTarget& target) {
    return {core_, Operation::Verb::get, target, source.address(), layout, count};
  }
  /// `self.put_strided(tile, there, {.count = rows, .block = columns, .source_stride = 64, .target_stride = 1000})`
  template <class T>
  ScatteredTransfer put_strided(const std::type_identity_t<T>* source, Remote<T> target, const Strided& shape) {
    return {core_, Operation::Verb::put, const_cast<T*>(source), target.address(), sizeof(T), shape};
  }
  template <class T>
  ScatteredTransfer get_strided(Remote<T> source, std::type_identity_t<T>* target, const Strided& shape) {
    return {core_, Operation::Verb::get, target, source.address(), sizeof(T), shape};
  }
  /// The bytes of all `sources`, one behind the other, to `targets` in the same way. These lie in one segment (or
  /// exposed memory) of one rank. Neither list may be empty.
  template <class T>
  ScatteredTransfer put_ranges(const std::vector<std::span<const std::type_identity_t<T>>>& sources,
                               const std::vector<RemoteRange<T>>& targets) {
    CORACLE_ASSERT(!sources.empty() && !targets.empty(), "put of {} ranges to {}", sources.size(), targets.size());
    return {core_,
            Operation::Verb::put,
            const_cast<T*>(sources.front().data()),
            scattered::ranges_of(sources),
            targets.front().place.address(),
            scattered::ranges_of(targets)};
  }
  template <class T>
  ScatteredTransfer get_ranges(const std::vector<RemoteRange<T>>& sources,
                               const std::vector<std::span<std::type_identity_t<T>>>& targets) {
    CORACLE_ASSERT(!sources.empty() && !targets.empty(), "get of {} ranges to {}", sources.size(), targets.size());
    return {core_,
            Operation::Verb::get,
            targets.front().data(),
            scattered::ranges_of(targets),
            sources.front().place.address(),
            scattered::ranges_of(sources)};
  }
  /// Starts any of these; awaited by the handle.
  Handle start_nb(ScatteredTransfer transfer);
  /// Starts any of these as an implicit operation.
  void start_nbi(ScatteredTransfer transfer);

  // --- explicit handles: started now, awaited later ---
  template <class T>
  Handle put_nb(std::span<const std::type_identity_t<T>> source, Remote<T> target) {
    return start_handle(put(source, target));
  }
  template <class T>
  Handle put_signal_nb(std::span<const std::type_identity_t<T>> source, Remote<T> target, Remote<Signal> signal,
                       std::uint64_t add = 1) {
    return start_handle(put_signal(source, target, signal, add));
  }
  template <class T>
  Handle get_nb(Remote<T> source, std::span<std::type_identity_t<T>> target) {
    return start_handle(get(source, target));
  }

  /// Not of a temporary: it would be gone before the transfer.
  template <detail::owning_range Range, class T>
  Handle put_nb(const Range&& source, Remote<T> target) = delete;
  template <detail::owning_range Range, class T>
  Handle put_signal_nb(const Range&& source, Remote<T> target, Remote<Signal> signal, std::uint64_t add = 1) = delete;

  // --- implicit handles and access regions ---
  template <class T>
  void put_nbi(std::span<const std::type_identity_t<T>> source, Remote<T> target) {
    auto operation = put(source, target);
    implicit_->start(operation);
  }
  template <class T>
  void put_signal_nbi(std::span<const std::type_identity_t<T>> source, Remote<T> target, Remote<Signal> signal,
                      std::uint64_t add = 1) {
    auto operation = put_signal(source, target, signal, add);
    implicit_->start(operation);
  }
  template <class T>
  void get_nbi(Remote<T> source, std::span<std::type_identity_t<T>> target) {
    auto operation = get(source, target);
    implicit_->start(operation);
  }
  template <detail::owning_range Range, class T>
  void put_nbi(const Range&& source, Remote<T> target) = delete;
  template <detail::owning_range Range, class T>
  void put_signal_nbi(const Range&& source, Remote<T> target, Remote<Signal> signal, std::uint64_t add = 1) = delete;
  /// Waits for all implicit operations started outside access regions; throws the first failure of any.
  OperationGroup::Done nbi_done() noexcept { return default_group_.done(); }
  /// From here on implicit operations belong to a region, until end_access_region() gives it as one handle.
  void begin_access_region();
  Handle end_access_region();

  // --- active messages ---
  /// Runs `handler` at `peer` with `payload` and up to 5 arguments. Done when `payload` may be reused.
  template <class... Arguments>
  Request request(std::uint32_t peer, Handler handler, std::span<const std::byte> payload, Arguments... arguments) {
    static_assert(sizeof...(Arguments) <= MessageHeader::kArgumentsMax, "a message carries at most 5 arguments");
    return make_request(peer, handler, payload, {static_cast<std::uint64_t>(arguments)...});
  }
  /// As request, but the payload is put at `target` in the peer's memory before the handler runs; the handler's
  /// arguments are followed by nothing: it knows the place, or is told by an argument.
  template <class... Arguments>
  Task<> request_long(Handler handler, std::span<const std::byte> payload, Remote<std::byte> target,
                      Arguments... arguments) {
    co_await put(payload, target);
    co_await request(target.rank(), handler, {}, arguments...);
  }

  /// Calls `function(Rank&, arguments...)` on `peer` and gives its result. See rpc.hpp (included by
  /// <coracle/coracle.hpp>).
  template <class Function, class... Arguments>
  auto call(std::uint32_t peer, Function function, Arguments... arguments);
  /// Has `function(Rank&, arguments...)` run on `peer`, which sends no answer; see rpc.hpp, too. Done
  /// when the message is on its way. What the function throws is told on standard error, by the rank that it ran on,
  /// which goes on. Throws Error (peer_lost) when the peer is known to be lost; of one that is lost later nothing is
  /// heard.
  template <class Function, class... Arguments>
  Task<> tell(std::uint32_t peer, Function function, Arguments... arguments);

 protected:
  /// By WholeRank.
  Rank(const JobRegion& region, std::uint32_t id, EventLoop& loop);
  void set_world(std::shared_ptr<Team> world, TeamCore& core) noexcept {
    world_ = std::move(world);
    core_.set_world(core);
  }

 private:
  template <class T>
  friend class Exposed;

  template <class T>
  Transfer transfer(Operation::Verb verb, const char* what, T* local, std::size_t count, Remote<T> remote) noexcept;
  template <class T>
  Atomic<T> modify(Modification::What what, const char* name, Remote<T> place, T operand) noexcept {
    return detail::make_modification<Atomic<T>>(core_, what, name, place, operand);
  }
  Handle start_handle(Transfer operation);
  Request make_request(std::uint32_t peer, Handler handler, std::span<const std::byte> payload,
                       std::initializer_list<std::uint64_t> arguments);
  std::uint32_t expose_bytes(void* address, std::size_t bytes);
  void conceal(std::uint32_t segment) noexcept;

  const JobRegion& region_;
  RankCore core_;
  Scope service_;
  OperationGroup default_group_;
  std::unique_ptr<OperationGroup> region_group_;
  OperationGroup* implicit_ = &default_group_;
  std::shared_ptr<Team> world_;  // whose type is not known here
  RankLocals locals_;
};

template <class T>
class [[nodiscard]] Exposed {
 public:
  Exposed(Rank& rank, std::span<T> memory)
      : rank_(&rank),
        segment_(rank.expose_bytes(memory.data(), byte_count(memory.size(), sizeof(T)))),
        memory_(memory) {}
  Exposed(Exposed&& other) noexcept
      : rank_(std::exchange(other.rank_, nullptr)), segment_(other.segment_), memory_(other.memory_) {}
  Exposed& operator=(Exposed&&) = delete;
  ~Exposed() {
    if (rank_ != nullptr) rank_->conceal(segment_);
  }
  std::span<T> local() const noexcept { return memory_; }
  Remote<T> remote() const noexcept { return Remote<T>(RemoteAddress{0, rank_->id(), segment_}); }

 private:
  Rank* rank_;
  std::uint32_t segment_;
  std::span<T> memory_;
};

template <class T>
Exposed<T> Rank::expose(std::span<T> memory) {
  return Exposed<T>(*this, memory);
}

template <class T>
Transfer Rank::transfer(Operation::Verb verb, const char* what, T* local, std::size_t count,
                        Remote<T> remote) noexcept {
  Transfer operation(core_, verb, what, remote.rank());
  operation.local = local;
  operation.bytes = byte_count(count, sizeof(T));
  operation.remote = remote.address();
  return operation;
}

}  // namespace coracle::internals
