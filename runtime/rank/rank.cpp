// The parts of Rank that need no template.
#include "runtime/rank/rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/core/byte_counts.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/job/exposed_access.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/app.hpp"

namespace coracle::internals {
namespace {

void report_failed_service(const std::exception_ptr& error, void* rank) noexcept {
  report_failure(static_cast<Rank*>(rank)->id(), "a task that served a peer failed", error);
}

/// Has `operation` end as the transfer does.
Task<> finish(Operation& operation, ScatteredTransfer transfer) {
  std::error_code outcome;
  try {
    co_await transfer;
  } catch (const Error& error) {
    outcome = error.code();
  } catch (const std::bad_alloc&) {
    outcome = std::make_error_code(std::errc::not_enough_memory);
  }
  operation.finish(outcome);
}

}  // namespace

Rank::Rank(const JobRegion& region, std::uint32_t id, EventLoop& loop)
    : region_(region), core_(*this, region, id, loop), service_(loop, &loop.root_scope()), default_group_(core_) {
  service_.isolate_children(report_failed_service, this);
}

std::uint32_t Rank::nodes() const noexcept {
  return region_.shape().nodes;
}

std::uint32_t Rank::node_of(std::uint32_t rank) const noexcept {
  return region_.node_of(rank);
}

Placement Rank::placement() const noexcept {
  return region_.shape().placement;
}

Rank::~Rank() {
  locals_.clear();
  world_.reset();
  core_.routes().end();
}

std::uint32_t Rank::expose_bytes(void* address, std::size_t bytes) {
  static_assert(ExposedMemory::kBytesMask >= (std::uint64_t{1} << 47) - 1);
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  if (bytes > ExposedMemory::kBytesMask || byte_end(begin, bytes) - begin != bytes)
    throw Error(Errc::bad_input, fmt::format("rank {} was to expose {} bytes at {}, more than there can be; see where "
                                             "their number comes from",
                                             id(), bytes, address));
  auto& exposed = region_.block(id()).exposed;
  for (std::uint32_t i = 0; i < exposed.size(); ++i) {
    const std::uint64_t before = exposed[i].word.load(std::memory_order_relaxed);  // written by this rank only
    if ((before & ExposedMemory::kBytesMask) != 0) continue;
    exposed[i].address.store(begin, std::memory_order_relaxed);
    // release: pairs with the acquire load in AddressMap::check.
    exposed[i].word.store(before | std::max<std::size_t>(bytes, 1), std::memory_order_release);
    return ExposedMemory::segment(i, before >> ExposedMemory::kTimesShift);
  }
  throw Error(
      std::make_error_code(std::errc::no_buffer_space),
      fmt::format("rank {} exposes {} pieces of memory already, which is the most; release some, or allocate from "
                  "the segment",
                  id(), exposed.size()));
}

void Rank::conceal(std::uint32_t segment) noexcept {
  const std::uint64_t times = ExposedMemory::times_of(segment) + 1;
  // seq_cst: whoever marks its access after the look below finds the memory withdrawn.
  region_.block(id()).exposed[ExposedMemory::index_of(segment)].word.store(times << ExposedMemory::kTimesShift,
                                                                           std::memory_order_seq_cst);
  if (placement() != Placement::sim) ExposedAccess::wait_for_others(region_, id());  // there one runs at a time
}

Task<> Rank::busy_for(std::chrono::nanoseconds duration) {
  if (duration.count() <= 0) co_return;
  const std::uint64_t until_ns = core_.transport().occupy(loop(), static_cast<std::uint64_t>(duration.count()));
  while (loop().exact_now_ns() < until_ns) co_await yield();
}

Transfer Rank::raise(Remote<Signal> signal, std::uint64_t add) noexcept {
  Transfer operation(core_, Operation::Verb::put, "raise", signal.rank());
  operation.remote = signal.address();  // no bytes: only the signal
  operation.signal = signal.address();
  operation.signal_add = add;
  return operation;
}

Handle Rank::start_handle(Transfer operation) {
  Handle handle(core_);
  handle.group_->start(operation);
  return handle;
}

Handle Rank::start_nb(ScatteredTransfer transfer) {
  Handle handle(core_);
  Operation& kept = handle.group_->keep(transfer.operation());
  service_.spawn(finish(kept, std::move(transfer)));
  return handle;
}

void Rank::start_nbi(ScatteredTransfer transfer) {
  Operation& kept = implicit_->keep(transfer.operation());
  service_.spawn(finish(kept, std::move(transfer)));
}

void Rank::begin_access_region() {
  CORACLE_ASSERT(!region_group_, "access regions can't be nested");
  region_group_ = std::make_unique<OperationGroup>(core_);
  implicit_ = region_group_.get();
}

Handle Rank::end_access_region() {
  CORACLE_ASSERT(region_group_, "there is no access region to end");
  implicit_ = &default_group_;
  return Handle(std::move(region_group_));
}

Request Rank::make_request(std::uint32_t peer, Handler handler, std::span<const std::byte> payload,
                           std::initializer_list<std::uint64_t> arguments) {
  const HandlerId id = HandlerId::of(handler);
  if (!id.valid())
    throw Error(Errc::bad_handler,
                "a message's handler must be a function of the main program, or of the library that Coracle is linked "
                "into: one elsewhere has no address that all ranks agree on");
  Request operation(core_, peer);
  operation.local = const_cast<std::byte*>(payload.data());
  operation.bytes = payload.size();
  operation.header.handler = id;
  operation.header.argument_count = static_cast<std::uint32_t>(arguments.size());
  std::copy(arguments.begin(), arguments.end(), operation.header.arguments.begin());
  return operation;
}

Slab<Signal> Rank::allocate_signals(std::size_t count) {
  return allocate<Signal>(count);
}

App::App(Task<> (*function)(Rank&)) : program_(std::make_shared<ProgramOf<Task<> (*)(Rank&)>>(function)) {}

RankLocals::RankLocals() noexcept = default;

RankLocals::~RankLocals() {
  clear();
}

void RankLocals::add(const Local& local) {
  try {
    objects_.push_back(local);
  } catch (...) {
    local.destroy(local.object);
    throw;
  }
}

void RankLocals::clear() noexcept {
  while (!objects_.empty()) {
    const Local newest = objects_.back();
    objects_.pop_back();
    newest.destroy(newest.object);
  }
}

}  // namespace coracle::internals
