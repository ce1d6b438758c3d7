// ControlStream: frames over descriptors.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "runtime/core/condition.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/io.hpp"
#include "runtime/launch/control_frames.hpp"

namespace coracle::internals {

/// One end. The other's end shows as ended() once every whole frame has been taken.
class ControlStream {
 public:
  /// Makes both descriptors non-blocking. Without `out`, `in` is for both directions.
  explicit ControlStream(FileDescriptor in, FileDescriptor out = {});
  ControlStream(const ControlStream&) = delete;
  ControlStream& operator=(const ControlStream&) = delete;

  /// Queues and sends what can be sent at once. At most FrameParser::kPayloadMax.
  void send(ControlFrameType type, std::span<const std::byte> payload = {});
  /// Sends what was queued when the other end takes it; has no end.
  Task<> send_queued(Io& io);
  /// Bytes queued.
  std::size_t backlog() const noexcept { return queue_.size() - sent_; }
  /// Until fewer than `bytes` are.
  Task<> room(std::size_t bytes);

  /// The next frame that has come whole. Throws Error for what is none.
  std::optional<ControlFrame> receive();
  /// The next frame; nothing: the other end is gone. Throws Error for what is none.
  Task<std::optional<ControlFrame>> next(Io& io);
  /// The descriptor that frames come from.
  int fd() const noexcept { return in_.get(); }

  bool ended() const noexcept { return ended_; }
  /// Ends both directions. The stream must be of one socket.
  void shut() noexcept;

 private:
  int out_fd() const noexcept { return out_ ? out_.get() : in_.get(); }
  void flush() noexcept;

  FileDescriptor in_;
  FileDescriptor out_;
  FrameParser parser_;
  std::vector<std::byte> queue_;
  std::size_t sent_ = 0;
  bool ended_ = false;
  Condition queued_;  // something is, or less than before
};

/// While a launcher writes to pipes and sockets whose other end may be gone: errors instead of SIGPIPE, also for the
/// programs it runs in this process, not for those it starts.
void catch_broken_pipes() noexcept;

}  // namespace coracle::internals
