// Stream: one connected socket as an ordered stream of bytes in both directions, driven by io_uring or by readiness;
// and StreamUser, the protocol above it, which does no I/O itself.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>

#include "runtime/core/containers.hpp"
#include "runtime/rank/operation.hpp"

namespace coracle::internals::tcp {

/// The bytes that wait to be sent on one connection. What is short is copied into chunks that never move (the kernel
/// may be reading them); large payloads stay where they are.
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

/// Told by the stream, from inside pollers or coroutines of the loop.
class StreamUser {
 public:
  /// The next bytes of the stream; valid during the call.
  virtual void received(std::span<const std::byte> bytes) noexcept = 0;
  /// Where the stream's next bytes shall be received to without a copy; empty: anywhere. The memory stays valid until
  /// so many bytes have landed or the stream has ended.
  virtual std::span<std::byte> landing() const noexcept = 0;
  virtual void landed(std::size_t bytes) noexcept = 0;
  /// False: receive nothing more until output has been sent.
  virtual bool wants_input() const noexcept = 0;
  virtual Outbox& outbox() noexcept = 0;
  /// No bytes follow those in the outbox: the stream ends its side once it has sent them.
  virtual bool output_over() const noexcept = 0;
  /// Bytes have left the outbox.
  virtual void drained() noexcept = 0;
  /// No more bytes come: the peer has closed its side (no error), or the connection has failed. Called once; and once
  /// more when output fails after the peer has closed its side.
  virtual void ended(std::error_code error) noexcept = 0;

 protected:
  ~StreamUser() = default;
};

/// Whether an error of a socket (an errno) says nothing of the connection: it is busy, or the system lacks memory.
inline bool may_pass(int error) noexcept {
  return error == EAGAIN || error == EINTR || error == ENOMEM || error == ENOBUFS;
}

/// Loop's thread only. The kernel may hold buffers until idle(): neither user nor stream may end before.
class Stream {
 public:
  virtual ~Stream() = default;
  /// The outbox has bytes, or the output is over, other than in answer to input, after which the stream looks by
  /// itself.
  virtual void output_ready() noexcept = 0;
  /// Sends what is in the outbox as far as the socket takes it, and the rest as after output_ready().
  virtual void output_now() noexcept = 0;
  /// Stops everything. `reset`: the peer sees an error at once, and what is unsent is thrown away.
  virtual void close(bool reset) noexcept = 0;
  /// Closed, and the kernel holds no buffer of ours.
  virtual bool idle() const noexcept = 0;
};

}  // namespace coracle::internals::tcp
