// Descriptor: what one DMA controller is told to copy; a chain of them is a table, started by one doorbell.
//
// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016): descriptors of source, destination and length, linked into a
// table in memory; block-stride transfers in one descriptor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::tca {

/// `count` blocks of `block_bytes`, each `source_stride` and `target_stride` bytes behind the one before
/// (block-stride); with count = 1, plain bytes.
struct Descriptor {
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

/// Descriptors that are carried out in order.
using Chain = std::span<const Descriptor>;

}  // namespace coracle::tca
