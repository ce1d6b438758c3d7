// Which way bytes go to and from a GPU's memory.
#include "runtime/rank/device_transfers.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/layout/cursor.hpp"
#include "runtime/rank/exchange.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

/// Copies that the engines are given at a time: so many that starting them does not count.
constexpr std::size_t kRunsAtOnce = 1024;

/// Whether `run` is one more block of `copies`' last; then it is counted there.
bool joins(std::vector<StridedCopy>& copies, const StridedCopy& run) {
  if (copies.empty()) return false;
  StridedCopy& last = copies.back();
  if (last.block_bytes != run.block_bytes) return false;
  const std::int64_t source_stride = run.source - last.source_block(last.count - 1);
  const std::int64_t target_stride = run.target - last.target_block(last.count - 1);
  if (last.count > 1 && (source_stride != last.source_stride || target_stride != last.target_stride)) return false;
  last.source_stride = source_stride;
  last.target_stride = target_stride;
  ++last.count;
  return true;
}

/// What both sides have in one piece, from where the cursors stand, up to `bytes` and kRunsAtOnce; gives the bytes.
std::uint64_t next_runs(layouts::Cursor& target, std::byte* target_origin, layouts::Cursor& source,
                        const std::byte* source_origin, std::uint64_t bytes, std::vector<StridedCopy>& copies) {
  copies.clear();
  std::uint64_t done = 0;
  while (done < bytes && copies.size() < kRunsAtOnce) {
    const std::uint64_t run_bytes = std::min({target.group().block_bytes, source.group().block_bytes, bytes - done});
    const StridedCopy run{source_origin + source.group().first_block(), target_origin + target.group().first_block(),
                          run_bytes};
    if (!joins(copies, run)) copies.push_back(run);
    target.advance_bytes(run_bytes);
    source.advance_bytes(run_bytes);
    done += run_bytes;
  }
  return done;
}

}  // namespace

void DeviceTransfers::start(Operation& operation) noexcept {
  if (operation.remote.rank >= rank_.size()) return operation.finish(Errc::no_such_peer);
  const bool moves = operation.verb == Operation::Verb::put || operation.verb == Operation::Verb::get;
  if (!moves || (operation.signal_add > 0 && Accelerator::holds(operation.signal))) {
    last_failure_ =
        "atomics, signals and payloads of messages must lie in host memory (Rank::allocate), not in a GPU's";
    return operation.finish(Errc::unsupported);
  }
  rank_.service().spawn(carry_out(operation));
}

Task<> DeviceTransfers::carry_out(Operation& operation) {
  std::error_code outcome;
  try {
    auto* const here = static_cast<std::byte*>(operation.local);
    std::byte* const there = find(operation.verb, operation.remote, operation.bytes);
    const bool is_put = operation.verb == Operation::Verb::put;
    const bool between_engines = operation.bytes > 0 && there != nullptr &&
                                 accelerator_.engines_reach(here, operation.bytes) &&
                                 accelerator_.engines_reach(there, operation.bytes);
    if (between_engines) {  // one piece: nothing of layouts is needed
      const StridedCopy run{is_put ? here : there, is_put ? there : here, operation.bytes};
      co_await accelerator_.copy({&run, 1});
    } else {
      const Layout layout = Layout::bytes(static_cast<std::int64_t>(operation.bytes));
      co_await transfer(operation.verb, {operation.local, layout}, operation.remote, layout, 1, operation.bytes);
    }
    const Remote<Signal> signal(operation.signal);
    if (operation.signal_add > 0) co_await rank_.raise(signal, operation.signal_add);
  } catch (const Error& error) {
    outcome = error.code();
    last_failure_ = error.what();
  } catch (const std::bad_alloc&) {
    outcome = std::make_error_code(std::errc::not_enough_memory);
  }
  operation.finish(outcome);
}

/// Where memory of a rank lies for this processor, or the engines; null: only its rank moves the bytes.
std::byte* DeviceTransfers::find(Operation::Verb verb, const RemoteAddress& place, std::size_t bytes) {
  const AddressMap& addresses = rank_.core().addresses();
  const bool on_device = Accelerator::holds(place);
  if (const std::error_code error = on_device ? accelerator_.check(place, bytes) : addresses.check(place, bytes)) {
    const auto peer = static_cast<int>(place.rank);
    throw Error::of_operation(error, verb == Operation::Verb::put ? "put" : "get", static_cast<int>(rank_.id()), peer,
                              rank_.core().describe_failure(error, peer, place, bytes));
  }
  if (bytes == 0) return nullptr;
  if (on_device) return accelerator_.reach(place);
  // Of what a peer may withdraw while an engine is at it only the peer moves the bytes.
  const bool stays = place.rank == rank_.id() || !place.may_be_withdrawn();
  return stays ? addresses.reach(place, bytes) : nullptr;
}

Task<> DeviceTransfers::transfer(Operation::Verb verb, ScatteredTarget local, RemoteAddress origin,
                                 const Layout& layout, std::uint64_t count, std::uint64_t bytes) {
  const bool is_put = verb == Operation::Verb::put;
  const scattered::Extent extent = scattered::Extent::of(origin, layout, count);
  std::byte* const low = find(verb, extent.low, static_cast<std::size_t>(extent.bytes));
  if (bytes == 0) co_return;
  if (low == nullptr) {
    auto& exchange = rank_.local<scattered::Exchange>();
    const ScatteredSource source{local.origin, local.layout, local.count};
    if (is_put) co_return co_await exchange.put(source, origin, layout, count, bytes);
    co_return co_await exchange.get(origin, layout, count, local, bytes);
  }
  std::byte* there = extent.origin(low);
  if (is_put)
    co_await copy({there, layout, count}, {local.origin, local.layout, local.count}, bytes);
  else
    co_await copy(local, {there, layout, count}, bytes);
}

bool DeviceTransfers::engines_reach(const void* origin, const Layout& layout, std::uint64_t count) {
  const Footprint footprint = layout.footprint(count);
  return accelerator_.engines_reach(static_cast<const std::byte*>(origin) + footprint.low,
                                    static_cast<std::size_t>(footprint.high - footprint.low));
}

// --- within reach ---

/// A copy that goes through buffers: each of several tasks takes the next piece.
struct DeviceTransfers::Staged {
  DeviceTransfers& transfers;
  ScatteredTarget target;
  ScatteredSource source;
  std::uint64_t bytes;
  std::uint64_t position = 0;  // of what is to be copied next
};

Task<> DeviceTransfers::copy(ScatteredTarget target, ScatteredSource source, std::uint64_t bytes) {
  const bool between_engines = engines_reach(target.origin, target.layout, target.count) &&
                               engines_reach(source.origin, source.layout, source.count);
  if (between_engines) co_return co_await copy_runs(target, 0, source, 0, bytes);
  Staged staged{*this, target, source, bytes};
  co_await with_scope(stage_all, std::ref(staged));
}

Task<> DeviceTransfers::stage_all(Scope& scope, Staged& staged) {
  // One is filled by the processor while others are with the engines.
  constexpr std::uint64_t kBuffers = 4;
  const std::uint64_t pieces = (staged.bytes + DeviceBuffer::kBytes - 1) / DeviceBuffer::kBytes;
  for (std::uint64_t i = 0; i < std::min(kBuffers, pieces); ++i) scope.spawn(stage_some(staged));
  co_return;
}

Task<> DeviceTransfers::stage_some(Staged& staged) {
  DeviceTransfers& transfers = staged.transfers;
  const DeviceBuffer buffer = transfers.accelerator_.buffer();
  while (staged.position < staged.bytes) {
    const std::uint64_t position = staged.position;
    const std::uint64_t bytes = std::min<std::uint64_t>(staged.bytes - position, DeviceBuffer::kBytes);
    const std::span<std::byte> piece = buffer.span().first(static_cast<std::size_t>(bytes));
    staged.position += bytes;
    co_await transfers.pack(staged.source, position, piece);
    co_await transfers.unpack(piece, position, staged.target);
  }
}

Task<std::uint64_t> DeviceTransfers::pack(ScatteredSource source, std::uint64_t position, std::span<std::byte> packed) {
  if (!on_device(source.origin, source.layout, source.count)) {
    co_await yield();  // the copy is the processor's; others get their turn
    co_return coracle::internals::pack(source, position, packed);
  }
  const std::uint64_t all = source.layout.packed_bytes(source.count);
  const std::uint64_t bytes = std::min<std::uint64_t>(all - position, packed.size());
  const Layout layout = Layout::bytes(static_cast<std::int64_t>(bytes));
  const ScatteredTarget target{packed.data(), layout};
  co_await copy_runs(target, 0, source, position, bytes);
  co_return bytes;
}

Task<> DeviceTransfers::unpack(std::span<const std::byte> packed, std::uint64_t position, ScatteredTarget target) {
  if (!on_device(target.origin, target.layout, target.count)) {
    co_await yield();
    coracle::internals::unpack(packed, position, target);
    co_return;
  }
  const Layout layout = Layout::bytes(static_cast<std::int64_t>(packed.size()));
  const ScatteredSource source{packed.data(), layout};
  co_await copy_runs(target, position, source, 0, packed.size());
}

Task<> DeviceTransfers::copy_runs(ScatteredTarget target, std::uint64_t target_position, ScatteredSource source,
                                  std::uint64_t source_position, std::uint64_t bytes) {
  layouts::Cursor to(target.layout, target.count, target_position);
  layouts::Cursor from(source.layout, source.count, source_position);
  std::vector<StridedCopy> copies;
  while (bytes > 0) {
    bytes -= next_runs(to, static_cast<std::byte*>(target.origin), from, static_cast<const std::byte*>(source.origin),
                       bytes, copies);
    co_await accelerator_.copy(copies);
  }
}

}  // namespace coracle::internals
