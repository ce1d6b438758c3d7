// Non-blocking reads and writes.
#include "runtime/launch/control_stream.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::internals {
namespace {

void ignore_signal(int) {}

}  // namespace

void catch_broken_pipes() noexcept {
  // A handler and not SIG_IGN, which exec would pass on.
  struct sigaction action {};
  action.sa_handler = ignore_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &action, nullptr);
}

ControlStream::ControlStream(FileDescriptor in, FileDescriptor out) : in_(std::move(in)), out_(std::move(out)) {
  make_non_blocking(in_);
  if (out_) make_non_blocking(out_);
  const auto* prelude = reinterpret_cast<const std::byte*>(FrameParser::kPrelude.data());
  queue_.assign(prelude, prelude + FrameParser::kPrelude.size());
}

void ControlStream::send(ControlFrameType type, std::span<const std::byte> payload) {
  CORACLE_ASSERT(payload.size() <= FrameParser::kPayloadMax, "a frame of {} bytes", payload.size());
  const std::vector<std::byte> header = FrameParser::header(type, payload.size());
  queue_.insert(queue_.end(), header.begin(), header.end());
  queue_.insert(queue_.end(), payload.begin(), payload.end());
  flush();
}

Task<> ControlStream::send_queued(Io& io) {
  for (;;) {
    co_await queued_.wait([this] { return backlog() > 0; });
    co_await io.wait_writable(out_fd());
    flush();
  }
}

Task<> ControlStream::room(std::size_t bytes) {
  co_await queued_.wait([this, bytes] { return backlog() < bytes; });
}

void ControlStream::flush() noexcept {
  while (sent_ < queue_.size()) {
    const ssize_t written = ::write(out_fd(), queue_.data() + sent_, queue_.size() - sent_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return queued_.notify_all();
    if (written <= 0) break;  // nobody reads: the end of the other direction tells it
    sent_ += static_cast<std::size_t>(written);
  }
  queue_.clear();
  sent_ = 0;
  queued_.notify_all();
}

std::optional<ControlFrame> ControlStream::receive() {
  for (;;) {
    if (std::optional<ControlFrame> frame = parser_.next()) return frame;
    if (ended_) return std::nullopt;
    std::array<std::byte, 65536> buffer;
    const ssize_t bytes = ::read(in_.get(), buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno == EAGAIN) return std::nullopt;
    if (bytes <= 0) {
      ended_ = true;
    } else {
      parser_.feed(std::span(buffer).first(static_cast<std::size_t>(bytes)));
    }
  }
}

Task<std::optional<ControlFrame>> ControlStream::next(Io& io) {
  for (;;) {
    std::optional<ControlFrame> frame = receive();
    if (frame || ended_) co_return frame;
    co_await io.wait_readable(fd());
  }
}

void ControlStream::shut() noexcept {
  ended_ = true;
  ::shutdown(fd(), SHUT_RDWR);
}

}  // namespace coracle::internals
