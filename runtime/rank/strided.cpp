#include "runtime/rank/strided.hpp"

#include <utility>

#include "runtime/layout/cursor.hpp"

namespace coracle::internals::scattered {
namespace {

/// One side's blocks.
struct EqualBlocks {
  std::uint64_t block_bytes;
  std::uint64_t count;
  std::uint64_t rows;
  StridedShape::Side place;

  /// Each block of a row as a row of shorter ones, right behind each other, if there is such a length.
  void cut(std::uint64_t shorter_bytes) noexcept {
    if (rows > 1 || block_bytes <= shorter_bytes || block_bytes % shorter_bytes != 0) return;
    rows = count;
    place.row_stride = place.stride;
    count = block_bytes / shorter_bytes;
    place.stride = static_cast<std::int64_t>(shorter_bytes);
    block_bytes = shorter_bytes;
  }
  /// A row as several of so many blocks.
  void fold(std::uint64_t blocks) noexcept {
    rows = count / blocks;
    count = blocks;
    place.row_stride = rows > 1 ? place.stride * static_cast<std::int64_t>(blocks) : 0;
  }
};

std::optional<EqualBlocks> blocks_of(const Layout& layout, std::uint64_t repetitions) noexcept {
  layouts::Group group;
  if (!layouts::is_one_group(layout, repetitions, group) || group.offsets != nullptr) return std::nullopt;
  EqualBlocks blocks{group.block_bytes,
                     static_cast<std::uint64_t>(group.count),
                     static_cast<std::uint64_t>(group.rows),
                     {group.offset, group.stride, group.row_stride}};
  if (blocks.count == 1) {  // a column
    std::swap(blocks.count, blocks.rows);
    std::swap(blocks.place.stride, blocks.place.row_stride);
  }
  return blocks;
}

}  // namespace

std::optional<StridedShape> common_shape(const Layout& local, std::uint64_t local_count, const Layout& remote,
                                         std::uint64_t remote_count) noexcept {
  auto here = blocks_of(local, local_count);
  auto there = blocks_of(remote, remote_count);
  if (!here || !there) return std::nullopt;
  here->cut(there->block_bytes);
  there->cut(here->block_bytes);
  if (here->block_bytes != there->block_bytes) return std::nullopt;
  if (here->rows == 1) here->fold(there->count);
  if (there->rows == 1) there->fold(here->count);
  if (here->count != there->count) return std::nullopt;
  return StridedShape{here->block_bytes, here->count, here->rows, here->place, there->place};
}

}  // namespace coracle::internals::scattered
