// Stream: one connected socket as an ordered stream of bytes in both directions, driven by io_uring or by readiness;
// and StreamUser, the protocol above it, which does no I/O itself.
#pragma once

#include <cerrno>
#include <cstddef>
#include <span>
#include <system_error>

#include "transports/tcp/outbox.hpp"

namespace coracle::internals::tcp {

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
