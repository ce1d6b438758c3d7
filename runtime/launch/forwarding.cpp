// Non-blocking pipes on one side, frames on the other.
#include "runtime/launch/forwarding.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "runtime/core/error.hpp"

namespace coracle::internals {

OutputForwarder::OutputForwarder(int fd, ControlStream& head) : fd_(fd), head_(head) {
  ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
}

OutputForwarder::~OutputForwarder() {
  ::close(fd_);
}

Task<> OutputForwarder::serve(Io& io) {
  for (;;) {
    co_await head_.room(kBacklogMax);
    co_await io.wait_readable(fd_);
    forward();
  }
}

void OutputForwarder::forward() {
  while (head_.backlog() < kBacklogMax) {
    std::array<std::byte, 32768> buffer;
    const ssize_t bytes = ::read(fd_, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return;
    head_.send(ControlFrameType::output, std::span(buffer).first(static_cast<std::size_t>(bytes)));
  }
}

InputForwarder::InputForwarder(int fd, ControlStream& head) : fd_(fd), head_(head) {
  ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
}

InputForwarder::~InputForwarder() {
  close_pipe();
}

void InputForwarder::close_pipe() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
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
    if (queue_.empty()) co_return close_pipe();
    if (fd_ >= 0) co_await io.wait_writable(fd_);
    pass_on();
  }
}

void InputForwarder::pass_on() {
  std::size_t done = 0;
  while (fd_ >= 0 && done < queue_.size()) {
    const ssize_t bytes = ::write(fd_, queue_.data() + done, queue_.size() - done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno == EAGAIN) break;
    if (bytes < 0) close_pipe();  // nobody reads it
    if (bytes > 0) done += static_cast<std::size_t>(bytes);
  }
  if (fd_ < 0) done = queue_.size();
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(done));
  if (done > 0) head_.send(ControlFrameType::credit, encode(static_cast<std::uint32_t>(done)));
}

}  // namespace coracle::internals
