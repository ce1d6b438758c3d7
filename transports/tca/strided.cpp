// Puts of equal blocks at equal distances, by the device's block-stride: a descriptor for each row of blocks, over as
// many channels as any other move.
//
// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016): large block-stride transfers by the hardware, small ones packed.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "transports/tca/dma_moves.hpp"

namespace coracle::internals::tca {
namespace {

/// The fewest rows: each is a table.
StridedShape with_long_rows(StridedShape shape) noexcept {
  if (shape.rows <= shape.count) return shape;
  std::swap(shape.rows, shape.count);
  std::swap(shape.local.stride, shape.local.row_stride);
  std::swap(shape.remote.stride, shape.remote.row_stride);
  return shape;
}

/// The run of memory in which the blocks of one side lie.
std::span<const std::byte> run_of(const StridedShape& shape, const StridedShape::Side& side,
                                  const std::byte* origin) noexcept {
  const std::int64_t row = static_cast<std::int64_t>(shape.count - 1) * side.stride;
  const std::int64_t column = static_cast<std::int64_t>(shape.rows - 1) * side.row_stride;
  const std::byte* low = origin + side.first + std::min<std::int64_t>(row, 0) + std::min<std::int64_t>(column, 0);
  return {low, static_cast<std::size_t>(std::abs(row) + std::abs(column)) + shape.block_bytes};
}

bool is_aligned(const StridedShape& shape, const StridedShape::Side& side, const std::byte* origin,
                std::uint64_t alignment) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(origin + side.first);
  const std::uint64_t steps = (shape.count > 1 ? static_cast<std::uint64_t>(side.stride) : 0) |
                              (shape.rows > 1 ? static_cast<std::uint64_t>(side.row_stride) : 0);
  return (place | steps | shape.block_bytes) % alignment == 0;
}

/// Whether block-stride takes less time than packing, by the device's nominal figures. It reads each block by whole
/// requests, of which short blocks fill but a part; but it goes over all channels, and needs no answer. Packed bytes
/// are copied twice and go over the packets' channel, in a table there and one for the answer.
bool is_quicker_than_packing(const DeviceRules& rules, const StridedShape& shape, unsigned packet_channel) noexcept {
  constexpr double kCopiesNsPerByte = 0.25;  // as of all transports: see scattered::choose_way
  double rate = 0;
  for (unsigned i = 0; i < rules.channels; ++i) rate += rules.rates[i];
  const std::uint64_t read_bytes = (shape.block_bytes + rules.granule - 1) / rules.granule * rules.granule;
  const std::uint64_t reads_bytes = read_bytes * shape.count * shape.rows;
  const double strided_ns = static_cast<double>(shape.rows) * rules.table_ns + static_cast<double>(reads_bytes) / rate;
  const double packed_ns =
      2 * rules.table_ns + static_cast<double>(shape.bytes()) * (1 / rules.rates[packet_channel] + kCopiesNsPerByte);
  return strided_ns < packed_ns;
}

}  // namespace

bool DmaMoves::takes(const StridedOperation& put) const noexcept {
  if (memory_.check(put)) return false;
  const DeviceRules& rules = device_.rules();
  const StridedShape& shape = put.shape;
  const auto* source = static_cast<const std::byte*>(put.local);
  std::byte* target = memory_.address_of(put.remote);
  const std::span<const std::byte> read = run_of(shape, shape.local, source);
  return rules.block_stride && is_aligned(shape, shape.local, source, rules.alignment) &&
         is_aligned(shape, shape.remote, target, rules.alignment) && device_.reads(read.data(), read.size()) &&
         device_.writes(target, put.bytes) &&
         is_quicker_than_packing(rules, with_long_rows(shape), PacketSender::kChannel);
}

void DmaMoves::put_strided(StridedOperation& put) noexcept {
  ++modes_.block_stride;
  const StridedShape shape = with_long_rows(put.shape);
  Move& move = take({.put = &put, .peer = put.remote.rank});
  move.row = {static_cast<const std::byte*>(put.local) + shape.local.first,
              memory_.address_of(put.remote) + shape.remote.first,
              shape.block_bytes,
              shape.count,
              shape.local.stride,
              shape.remote.stride};
  move.source_row_stride = shape.local.row_stride;
  move.target_row_stride = shape.remote.row_stride;
  move.body = shape.bytes();
  go_on(move);
}

}  // namespace coracle::internals::tca
