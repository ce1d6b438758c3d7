// StridedCopy: what a DMA engine is told to copy at once: blocks of one length at two strides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::internals {

/// `count` blocks of `block_bytes`, each `source_stride` and `target_stride` bytes behind the one before
/// (block-stride); with count = 1, plain bytes.
struct StridedCopy {
  const std::byte* source;
  std::byte* target;
  std::uint64_t block_bytes;
  std::uint64_t count = 1;
  std::int64_t source_stride = 0;
  std::int64_t target_stride = 0;

  std::uint64_t bytes() const noexcept { return block_bytes * count; }
  const std::byte* source_block(std::uint64_t index) const noexcept {
    return source + static_cast<std::int64_t>(index) * source_stride;
  }
  std::byte* target_block(std::uint64_t index) const noexcept {
    return target + static_cast<std::int64_t>(index) * target_stride;
  }
  /// The runs of memory in which the blocks lie, gaps included.
  std::span<const std::byte> sources() const noexcept {
    return {std::min(source, source_block(count - 1)), std::max(source, source_block(count - 1)) + block_bytes};
  }
  std::span<std::byte> targets() const noexcept {
    return {std::min(target, target_block(count - 1)), std::max(target, target_block(count - 1)) + block_bytes};
  }
};

}  // namespace coracle::internals
