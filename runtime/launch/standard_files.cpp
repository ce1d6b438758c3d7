// Non-blocking pipes on one side, frames on the other. Descriptors 0 and 1 belong to others too, so that they stay as
// they are: asked before each read and write.
#include "runtime/launch/standard_files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kHeadBacklogMax = 256 << 10;

/// Who reads from its terminal in the background is stopped.
bool may_read_input() noexcept {
  const pid_t foreground = ::tcgetpgrp(STDIN_FILENO);
  return foreground < 0 || foreground == ::getpgrp();
}

/// Up to `room` bytes of standard input once there are some; none: its end.
Task<std::vector<std::byte>> next_input(std::size_t room, Io& io) {
  std::vector<std::byte> buffer(std::min<std::size_t>(room, 16384));
  for (;;) {
    if (!is_ready(STDIN_FILENO, POLLIN)) {
      co_await io.wait_readable(STDIN_FILENO);
    } else if (!may_read_input()) {
      co_await sleep_for(std::chrono::milliseconds(200));  // what is there is for another
    } else {
      const ssize_t bytes = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      buffer.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
      co_return buffer;
    }
  }
}

}  // namespace

OutputForwarder::OutputForwarder(FileDescriptor pipe, ControlStream& head) : pipe_(std::move(pipe)), head_(head) {
  make_non_blocking(pipe_);
}

Task<> OutputForwarder::serve(Io& io) {
  for (;;) {
    co_await head_.room(kHeadBacklogMax);
    co_await io.wait_readable(pipe_.get());
    forward();
  }
}

void OutputForwarder::forward() {
  while (head_.backlog() < kHeadBacklogMax) {
    std::array<std::byte, 32768> buffer;
    const ssize_t bytes = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return;
    head_.send(ControlFrameType::output, std::span(buffer).first(static_cast<std::size_t>(bytes)));
  }
}

InputForwarder::InputForwarder(FileDescriptor pipe, ControlStream& head) : pipe_(std::move(pipe)), head_(head) {
  make_non_blocking(pipe_);
}

void InputForwarder::push(const std::vector<std::byte>& bytes) {
  if (queue_.size() + bytes.size() > kWindowBytes) throw Error(Errc::bad_input, "more input than was asked for");
  if (bytes.empty()) at_end_ = true;
  queue_.insert(queue_.end(), bytes.begin(), bytes.end());
  pushed_.notify_all();
}

Task<> InputForwarder::serve(Io& io) {
  for (;;) {
    co_await pushed_.wait([this] { return at_end_ || !queue_.empty(); });
    if (queue_.empty()) co_return pipe_.close();
    if (pipe_) co_await io.wait_writable(pipe_.get());
    pass_on();
  }
}

void InputForwarder::pass_on() {
  std::size_t done = 0;
  while (pipe_ && done < queue_.size()) {
    const ssize_t bytes = ::write(pipe_.get(), queue_.data() + done, queue_.size() - done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno == EAGAIN) break;
    if (bytes < 0) pipe_.close();  // nobody reads it
    if (bytes > 0) done += static_cast<std::size_t>(bytes);
  }
  if (!pipe_) done = queue_.size();
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(done));
  if (done > 0) head_.send(ControlFrameType::credit, encode(static_cast<std::uint32_t>(done)));
}

bool can_inherit_input() noexcept {
  return ::fcntl(STDIN_FILENO, F_GETFD) >= 0 && ::isatty(STDIN_FILENO) == 0;
}

void HeadOutput::write(OutputStream stream, std::span<const std::byte> bytes) {
  const ControlFrameType type = stream == OutputStream::output ? ControlFrameType::output : ControlFrameType::errors;
  head_.send(type, bytes);
}

Task<> HeadOutput::room() {
  return head_.room(kHeadBacklogMax);
}

Task<> StandardFiles::forward_input_to(ControlStream& reader, Io& io) {
  for (;;) {
    co_await credited_.wait([this] { return credit_ > 0; });
    const std::vector<std::byte> bytes = co_await next_input(credit_, io);
    credit_ -= bytes.size();
    reader.send(ControlFrameType::input, bytes);
    if (bytes.empty()) co_return;
    co_await yield();  // a file is always ready
  }
}

void StandardFiles::grant(std::size_t bytes) noexcept {
  credit_ += bytes;
  credited_.notify_all();
}

Task<> StandardFiles::forward_input_to(FileDescriptor pipe, Io& io) {
  for (;;) {
    const std::vector<std::byte> bytes = co_await next_input(PIPE_BUF, io);
    if (bytes.empty()) co_return;
    co_await io.wait_writable(pipe.get());
    // A pipe that is ready takes PIPE_BUF bytes at once.
    if (::write(pipe.get(), bytes.data(), bytes.size()) < 0) co_return;  // nobody reads it
  }
}

void StandardFiles::write(OutputStream stream, std::span<const std::byte> bytes) {
  (stream == OutputStream::output ? output_ : errors_).write(bytes);
}

void StandardFiles::serve(Scope& services, Io& io) {
  services.spawn(output_.serve(io));
  services.spawn(errors_.serve(io));
}

Task<> StandardFiles::room() {
  while (full()) {
    co_await output_.room();
    co_await errors_.room();
  }
}

void StandardFiles::finish() {
  output_.finish();
  errors_.finish();
}

}  // namespace coracle::internals
