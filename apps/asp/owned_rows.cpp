// Deals the rows out and fills them.
#include "apps/asp/owned_rows.hpp"

#include "runtime/core/assert.hpp"

namespace coracle::asp {

std::size_t good_block_size(std::size_t vertices, std::uint32_t ranks) noexcept {
  constexpr std::size_t kBest = 64;  // measured: larger ones gain little and make the others wait longer for pivots
  const std::size_t wanted = vertices / (std::size_t{4} * ranks) / kPivotsStep * kPivotsStep;
  return std::clamp(wanted, kPivotsStep, kBest);
}

OwnedRows::OwnedRows(const BlockLayout& layout, std::uint32_t rank, const Graph& graph)
    : layout_(layout), rank_(rank), stride_(row_stride(layout.vertices)) {
  CORACLE_ASSERT(layout.block % kPivotsStep == 0 && layout.block > 0 && layout.block <= kPivotsMax, "blocks of {} rows",
                 layout.block);
  const std::size_t owned = rank < layout.blocks() ? (layout.blocks() - 1 - rank) / layout.ranks + 1 : 0;
  data_.reset(new (kAlignment) float[owned * layout.block * stride_]);
  for (std::size_t index = first_block(); index < layout.blocks(); index += layout.ranks) {
    const DistanceRows rows = block(index);
    for (std::size_t i = 0; i < rows.count; ++i) {
      graph.fill_row(static_cast<Vertex>(layout.first_row(index) + i), {rows.row(i), stride_});
    }
  }
}

DistanceRows OwnedRows::block(std::size_t index) const noexcept {
  const std::size_t place = index / layout_.ranks;
  return {data_.get() + place * layout_.block * stride_, layout_.row_count(index), stride_};
}

std::span<const float> OwnedRows::row(std::size_t vertex) const noexcept {
  const DistanceRows rows = block(vertex / layout_.block);
  return {rows.row(vertex % layout_.block), layout_.vertices};
}

}  // namespace coracle::asp
