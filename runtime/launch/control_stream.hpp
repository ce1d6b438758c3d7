// ControlStream: frames over descriptors, without ever waiting.
#pragma once

#include <poll.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "runtime/launch/control_frames.hpp"

namespace coracle::internals {

/// One end. The other's end shows as ended() once every whole frame has been taken.
class ControlStream {
 public:
  /// Takes over both descriptors, which may be the same, and makes them non-blocking.
  ControlStream(int in, int out);
  ~ControlStream();
  ControlStream(const ControlStream&) = delete;
  ControlStream& operator=(const ControlStream&) = delete;

  /// Queues and sends what can be sent at once. At most FrameParser::kPayloadMax.
  void send(ControlFrameType type, std::span<const std::byte> payload = {});
  /// Sends what is queued.
  void flush() noexcept;
  /// The next frame that has come whole. Throws Error for what is none.
  std::optional<ControlFrame> receive();

  bool ended() const noexcept { return ended_; }
  /// Bytes queued.
  std::size_t backlog() const noexcept { return queue_.size() - sent_; }
  /// `reading`: false while the caller takes no more frames.
  void want(std::vector<pollfd>& set, bool reading = true) const;

 private:
  int in_;
  int out_;
  FrameParser parser_;
  std::vector<std::byte> queue_;
  std::size_t sent_ = 0;
  bool ended_ = false;
};

/// While a launcher writes to pipes and sockets whose other end may be gone: errors instead of SIGPIPE, also for the
/// programs it runs in this process, not for those it starts.
void catch_broken_pipes() noexcept;

}  // namespace coracle::internals
