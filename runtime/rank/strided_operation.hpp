// StridedOperation: a put of equal blocks at equal distances, for transports whose device moves such blocks by itself.
#pragma once

#include <cstdint>

#include "runtime/rank/operation.hpp"

namespace coracle::internals {

/// Equal blocks in `rows` rows of `count`, on both sides; at least one of each. The order of blocks means nothing.
struct StridedShape {
  /// In bytes, of any sign.
  struct Side {
    std::int64_t first;       ///< From the origin to the first block.
    std::int64_t stride;      ///< From block to block in a row.
    std::int64_t row_stride;  ///< From row to row.
  };

  std::uint64_t block_bytes;
  std::uint64_t count;
  std::uint64_t rows;
  Side local;
  Side remote;

  std::uint64_t bytes() const noexcept { return block_bytes * count * rows; }
};

/// `local` is the origin here. `remote` and `bytes` are the run of memory there in which all blocks lie, gaps included;
/// it is the origin of the remote side.
class StridedOperation : public Operation {
 public:
  StridedOperation(const StridedShape& of, std::uint32_t peer) noexcept
      : Operation(Verb::put, "put", peer), shape(of) {}

  const StridedShape shape;
};

}  // namespace coracle::internals
