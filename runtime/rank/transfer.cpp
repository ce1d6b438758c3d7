// Where a transfer of layouts goes, and the way through memory at hand.
#include "runtime/rank/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/byte_counts.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/job/exposed_access.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/slab.hpp"
#include "runtime/layout/block_kernels.hpp"
#include "runtime/rank/memory_domain.hpp"
#include "runtime/rank/rank_core.hpp"
#include "runtime/rank/request.hpp"
#include "runtime/rank/strided.hpp"

namespace coracle::internals {
namespace {

/// Copied without a look at the loop: some hundred microseconds, even of short blocks.
constexpr std::uint64_t kCopiedAtOnce = 1 << 20;

const char* name_of(Operation::Verb verb) noexcept {
  return verb == Operation::Verb::put ? "put" : "get";
}

}  // namespace

ScatteredTransfer::ScatteredTransfer(RankCore& core, Operation::Verb verb, const ScatteredTarget& local,
                                     const RemoteAddress& remote, const Layout& layout, std::uint64_t count)
    : core_(core),
      operation_(verb, name_of(verb), remote.rank),
      local_layout_(&local.layout),
      remote_layout_(&layout),
      local_count_(local.count),
      remote_count_(count),
      origin_(remote),
      bytes_(layout.packed_bytes(count)) {
  const std::uint64_t local_bytes = local.layout.packed_bytes(local.count);
  CORACLE_ASSERT(local_bytes == bytes_, "{}: {} bytes here and {} bytes at the peer", name_of(verb), local_bytes,
                 bytes_);
  const scattered::Extent extent = scattered::Extent::of(remote, layout, count);
  operation_.local = local.origin;
  take_extent(extent.low, extent.bytes);
}

ScatteredTransfer::ScatteredTransfer(RankCore& core, Operation::Verb verb, void* local, Layout local_layout,
                                     const RemoteAddress& remote, Layout layout)
    : ScatteredTransfer(core, verb, {local, local_layout}, remote, layout, 1) {
  own_ = Layouts{std::move(local_layout), std::move(layout)};
}

ScatteredTransfer::ScatteredTransfer(RankCore& core, Operation::Verb verb, void* local, const RemoteAddress& remote,
                                     std::size_t element_bytes, const Strided& shape)
    : core_(core), operation_(verb, name_of(verb), remote.rank), origin_(remote) {
  operation_.local = local;
  if (describe_tile(element_bytes, shape)) return;
  throw Error(Errc::bad_input, fmt::format("{}: {} blocks of {} elements of {} bytes lie 2^63 bytes or more apart",
                                           name_of(verb), shape.count, shape.block, element_bytes));
}

/// False when it reaches over 2^63 bytes.
bool ScatteredTransfer::describe_tile(std::size_t element_bytes, const Strided& shape) noexcept {
  const bool is_put = operation_.verb == Operation::Verb::put;
  Tile tile{};
  std::int64_t last = 0;
  std::int64_t high = 0;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.block, element_bytes, &tile.block_bytes) ||
      __builtin_add_overflow(shape.count, 0, &tile.count) ||
      __builtin_mul_overflow(tile.count, tile.block_bytes, &bytes))
    return false;
  const auto element = static_cast<std::int64_t>(element_bytes);
  for (const bool is_remote : {false, true}) {
    std::int64_t& stride = is_remote ? tile.remote_stride : tile.local_stride;
    if (__builtin_mul_overflow(is_remote == is_put ? shape.target_stride : shape.source_stride, element, &stride) ||
        __builtin_mul_overflow(std::max<std::int64_t>(tile.count - 1, 0), stride, &last) ||
        __builtin_add_overflow(last < 0 ? -(last + 1) : last, tile.block_bytes, &high))
      return false;
  }
  bytes_ = static_cast<std::uint64_t>(bytes);
  tile_ = tile;
  if (bytes == 0) last = 0;
  RemoteAddress low = origin_;
  low.offset += static_cast<std::uint64_t>(std::min<std::int64_t>(last, 0));
  take_extent(low, bytes == 0 ? 0
                              : static_cast<std::uint64_t>(last < 0 ? -last : last) +
                                    static_cast<std::uint64_t>(tile.block_bytes));
  return true;
}

void ScatteredTransfer::make_layouts(const Tile& tile) {
  const Layout block = Layout::bytes(tile.block_bytes);
  own_ = Layouts{block.hvector(tile.count, 1, tile.local_stride), block.hvector(tile.count, 1, tile.remote_stride)};
}

void ScatteredTransfer::copy_tile(const Tile& tile) noexcept {
  if (bytes_ == 0) return;
  const layouts::Displacements here{tile.local_stride, 0, nullptr, nullptr};
  const layouts::Displacements there{tile.remote_stride, 0, nullptr, nullptr};
  auto* local = static_cast<std::byte*>(operation_.local);
  const auto block_bytes = static_cast<std::uint64_t>(tile.block_bytes);
  if (operation_.verb == Operation::Verb::put)
    layouts::move_blocks(remote_, there, local, here, block_bytes, tile.count, 1);
  else
    layouts::move_blocks(local, here, remote_, there, block_bytes, tile.count, 1);
}

/// Whether either end is a GPU's memory.
bool ScatteredTransfer::on_device() const {
  const MemoryDomain* devices = core_.device_memory();
  if (devices == nullptr) return false;
  if (Accelerator::holds(origin_)) return true;
  if (bytes_ == 0) return false;
  if (local_layout_ == nullptr) return devices->concerns(operation_);
  return devices->on_device(operation_.local, *local_layout_, local_count_);
}

bool ScatteredTransfer::await_ready() {
  if (tile_ && bytes_ <= kCopiedAtOnce && !on_device()) {
    const ExposedAccess access = access_remote();
    failure_ = find_remote();
    if (!failure_ && remote_ != nullptr) copy_tile(*tile_);
    if (failure_ || remote_ != nullptr) return true;
  }
  if (tile_) {
    make_layouts(*tile_);
    tile_.reset();
  }
  if (own_) {  // only now do they lie where they will stay
    local_layout_ = &own_->local;
    remote_layout_ = &own_->remote;
  }
  if (on_device()) {
    if (origin_.rank >= core_.region().shape().size) failure_ = Errc::no_such_peer;
    if (core_.peers().lost(origin_.rank)) failure_ = Errc::peer_lost;
    if (failure_) return true;
    rest_.emplace(
        core_.device_memory()->transfer(operation_.verb, local(), origin_, *remote_layout_, remote_count_, bytes_));
    rest_->awaited_at(where_);
    return rest_->await_ready();
  }
  {
    const ExposedAccess access = access_remote();
    failure_ = find_remote();
    if (failure_) return true;
    if (remote_ != nullptr) copy_piece(0);
  }
  if (remote_ != nullptr && bytes_ <= kCopiedAtOnce) return true;
  rest_.emplace(remote_ != nullptr ? copy_rest() : transfer());
  rest_->awaited_at(where_);
  return rest_->await_ready();
}

/// Of its place, while that is looked for and a piece is copied.
ExposedAccess ScatteredTransfer::access_remote() const noexcept {
  return {core_.region(), core_.id(), operation_.remote};
}

std::error_code ScatteredTransfer::find_remote() {
  const RemoteAddress& low = operation_.remote;
  if (core_.peers().lost(low.rank)) return Errc::peer_lost;
  std::byte* found = core_.addresses().reach(low, operation_.bytes);
  if (found == nullptr) return check_remote();
  const auto low_from = static_cast<std::int64_t>(low.offset - origin_.offset);
  remote_ = scattered::Extent{low, operation_.bytes, low_from}.origin(found);
  return {};
}

std::error_code ScatteredTransfer::check_remote() const noexcept {
  const RemoteAddress& low = operation_.remote;
  if (const std::error_code error = core_.addresses().check(low, operation_.bytes)) return error;
  // Segments of other nodes are as long as ours, so that nothing need be sent there to be refused.
  const std::uint64_t room = core_.region().shape().segment_bytes;
  const std::uint64_t offset = low.offset & SlabTags::kOffsetMask;
  const bool is_out = offset > room || operation_.bytes > room - offset;
  return low.segment == RemoteAddress::kOwnSegment && is_out ? Errc::out_of_segment : std::error_code();
}

void ScatteredTransfer::copy_piece(std::uint64_t position) noexcept {
  const std::uint64_t bytes = std::min(bytes_ - position, kCopiedAtOnce);
  const bool is_put = operation_.verb == Operation::Verb::put;
  void* from = is_put ? operation_.local : remote_;
  void* to = is_put ? remote_ : operation_.local;
  const auto& [from_layout, from_count] =
      is_put ? std::pair(local_layout_, local_count_) : std::pair(remote_layout_, remote_count_);
  const auto& [to_layout, to_count] =
      is_put ? std::pair(remote_layout_, remote_count_) : std::pair(local_layout_, local_count_);
  copy({to, *to_layout, to_count}, {from, *from_layout, from_count}, position, bytes);
}

Task<> ScatteredTransfer::copy_rest() {
  for (std::uint64_t position = kCopiedAtOnce; position < bytes_; position += kCopiedAtOnce) {
    co_await yield();
    const ExposedAccess access = access_remote();
    failure_ = find_remote();  // it may have been withdrawn meanwhile
    if (failure_) co_return;
    copy_piece(position);
  }
}

Task<> ScatteredTransfer::transfer() {
  if (operation_.verb == Operation::Verb::put && bytes_ > 0) {
    const auto shape = scattered::common_shape(*local_layout_, local_count_, *remote_layout_, remote_count_);
    if (shape && shape->bytes() > shape->block_bytes) return put_strided(*shape);
  }
  return transfer_packed_or_by_blocks();
}

Task<> ScatteredTransfer::put_strided(StridedShape shape) {
  shape.remote.first += static_cast<std::int64_t>(origin_.offset - operation_.remote.offset);
  scattered::StridedPut put(core_, shape, origin_.rank);
  put.local = operation_.local;
  put.remote = operation_.remote;
  put.bytes = operation_.bytes;
  const bool is_done = co_await put;
  if (!is_done) co_await transfer_packed_or_by_blocks();
}

Task<> ScatteredTransfer::transfer_packed_or_by_blocks() {
  const LayoutShape here = local_layout_->shape(local_count_);
  const LayoutShape there = remote_layout_->shape(remote_count_);
  const TransportTraits traits = core_.transport_to(origin_.rank).traits_to(origin_.rank);
  // Only of segments do we know that all of it exists before anything has been written.
  const bool is_known = origin_.segment == RemoteAddress::kOwnSegment && bytes_ > 0;
  if (is_known && scattered::choose_route(traits, here, there) == scattered::TransferRoute::blocks)
    return scattered::transfer_blocks(core_, operation_.verb, local(), origin_, *remote_layout_, remote_count_);
  LayoutMover& mover = core_.layout_mover();
  if (operation_.verb == Operation::Verb::put)
    return mover.put({operation_.local, *local_layout_, local_count_}, origin_, *remote_layout_, remote_count_, bytes_);
  return mover.get(origin_, *remote_layout_, remote_count_, local(), bytes_);
}

void ScatteredTransfer::throw_failure() const {
  const int peer = operation_.peer();
  throw Error::of_operation(failure_, operation_.what(), static_cast<int>(core_.id()), peer,
                            core_.describe_failure(failure_, peer, operation_.remote, operation_.bytes));
}

std::int64_t scattered::range_bytes(std::size_t count, std::size_t element_bytes) {
  const std::size_t bytes = byte_count(count, element_bytes);
  if (bytes <= kObjectBytesMax) return static_cast<std::int64_t>(bytes);
  throw Error(Errc::bad_input,
              fmt::format("a range of {} elements of {} bytes is longer than any memory; see where its "
                          "length comes from",
                          count, element_bytes));
}

}  // namespace coracle::internals
