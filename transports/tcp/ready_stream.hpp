// Streams where io_uring is refused, or too old: sockets that do not block, and two coroutines that wait until they are
// ready.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/task.hpp"
#include "transports/tcp/stream.hpp"

namespace coracle::internals::tcp {

class ReadyStream final : public Stream {
 public:
  /// Owns `fd`, a connected socket. Its coroutines belong to `scope`. `user` must live until idle().
  ReadyStream(Io& io, Scope& scope, StreamUser& user, int fd);
  ~ReadyStream() override;
  ReadyStream(const ReadyStream&) = delete;
  ReadyStream& operator=(const ReadyStream&) = delete;

  void output_ready() noexcept override { output_.set(); }
  void output_now() noexcept override { output_ready(); }
  void close(bool reset) noexcept override;
  bool idle() const noexcept override { return closed_ && running_ == 0; }

 private:
  static constexpr std::size_t kBufferBytes = 16 * 1024;
  static constexpr std::size_t kVectors = 16;
  static constexpr std::size_t kSendBytesMax = 1024 * 1024;

  static Task<> receive_all(ReadyStream& stream);
  static Task<> send_all(ReadyStream& stream);
  /// True when something was received; false when the socket is empty, or has ended.
  bool receive_some() noexcept;
  /// False when the socket is full.
  bool send_some() noexcept;
  void end(int error) noexcept;

  Io& io_;
  StreamUser& user_;
  int fd_;
  int running_ = 0;      // coroutines
  bool ended_ = false;   // no more input comes; answers may still have to go
  bool failed_ = false;  // nor can anything be sent
  bool closed_ = false;
  bool output_shut_ = false;
  Event output_;
  Event input_;
  std::array<std::byte, kBufferBytes> buffer_;
};

}  // namespace coracle::internals::tcp
