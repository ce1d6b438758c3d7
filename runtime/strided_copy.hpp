// StridedCopy: what a DMA engine is told to copy at once: blocks of one length at two strides.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle {

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
};

}  // namespace coracle
