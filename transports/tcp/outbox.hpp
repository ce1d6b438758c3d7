// Outbox: the bytes that wait to be sent on one connection. What is short is copied into chunks that never move (the
// kernel may be reading them); large payloads stay where they are.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/core/containers.hpp"
#include "runtime/rank/operation.hpp"

namespace coracle::internals::tcp {

class Outbox {
 public:
  /// Payloads up to this are copied: then their owner has its buffer back at once.
  static constexpr std::size_t kCopiedBytesMax = 4096;

  void copy(std::span<const std::byte> bytes);
  /// `bytes` must live until they have been released; `operation` (or null) is then finished.
  void refer(std::span<const std::byte> bytes, Operation* operation);

  bool empty() const noexcept { return unsent_bytes_ == 0; }
  /// Nothing that the kernel may still be reading, either.
  bool idle() const noexcept { return pieces_.empty(); }
  /// Copied and not yet released, and pieces: what it holds of our memory.
  std::size_t held_bytes() const noexcept { return copied_bytes_ + pieces_.size() * sizeof(Piece); }

  struct Gathered {
    std::size_t count = 0;  ///< Of the vectors filled.
    std::size_t bytes = 0;
    std::size_t referred_bytes = 0;  ///< Of these, not copied.
  };
  /// The next bytes to be sent, at most about `bytes_max`.
  Gathered gather(std::span<iovec> vectors, std::size_t bytes_max) const noexcept;
  /// The kernel has accepted so many of the bytes gathered; it may still read them.
  void sent(std::size_t bytes) noexcept;
  /// It has done with so many, in the order of sent().
  void release(std::size_t bytes) noexcept;
  /// Forgets everything; operations that wait for their bytes to be sent end with `outcome`. The kernel must have let
  /// go of all.
  void drop(std::error_code outcome) noexcept;

 private:
  struct Chunk {
    static constexpr std::size_t kBytes = 16 * 1024;
    std::array<std::byte, kBytes> bytes;
  };
  struct Piece {
    const std::byte* data;
    std::size_t bytes;
    std::size_t sent_bytes;
    std::size_t released_bytes;
    Operation* operation;
    bool referred;
  };

  RingQueue<Piece> pieces_;
  std::size_t first_unsent_ = 0;  // index in pieces_
  RingQueue<std::unique_ptr<Chunk>> chunks_;
  std::size_t last_chunk_used_ = Chunk::kBytes;  // of the last one
  std::size_t first_chunk_released_ = 0;
  std::size_t unsent_bytes_ = 0;
  std::size_t copied_bytes_ = 0;
  std::unique_ptr<Chunk> spare_;
};

}  // namespace coracle::internals::tcp
