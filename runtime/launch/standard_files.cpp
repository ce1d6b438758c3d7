// Non-blocking pipes on one side, frames on the other. Descriptors 0 and 1 belong to others too, so that they stay as
// they are: asked before each read and write.
#include "runtime/launch/standard_files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/signal_text.hpp"

namespace coracle::internals {
namespace {

bool ready(int fd, short event) {
  pollfd wanted{fd, event, 0};
  return ::poll(&wanted, 1, 0) == 1;
}

}  // namespace

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

Task<> StandardFiles::forward_input_to(ControlStream& reader, Io& io) {
  // A job must not read from the terminal; see LocalRanks.
  if (::isatty(STDIN_FILENO) != 0) co_return reader.send(ControlFrameType::input);
  for (;;) {
    co_await changed_.wait([this] { return credit_ > 0; });
    if (!ready(STDIN_FILENO, POLLIN)) {
      co_await io.wait_readable(STDIN_FILENO);
      continue;
    }
    std::array<std::byte, 16384> buffer;
    const ssize_t bytes = ::read(STDIN_FILENO, buffer.data(), std::min(buffer.size(), credit_));
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    const auto count = static_cast<std::size_t>(std::max<ssize_t>(bytes, 0));
    credit_ -= count;
    reader.send(ControlFrameType::input, std::span(buffer).first(count));
    if (count == 0) co_return;
    co_await yield();  // a file is always ready
  }
}

void StandardFiles::grant(std::size_t bytes) noexcept {
  credit_ += bytes;
  changed_.notify_all();
}

void StandardFiles::write(const std::vector<std::byte>& bytes) {
  output_.insert(output_.end(), bytes.begin(), bytes.end());
  write_some();
}

Task<> StandardFiles::write_output(Io& io) {
  for (;;) {
    co_await changed_.wait([this] { return !output_.empty(); });
    co_await io.wait_writable(STDOUT_FILENO);
    write_some();
  }
}

Task<> StandardFiles::room() {
  co_await changed_.wait([this] { return !full(); });
}

void StandardFiles::finish() {
  write_all(STDOUT_FILENO, {reinterpret_cast<const char*>(output_.data()), output_.size()});
  output_.clear();
}

void StandardFiles::write_some() {
  std::size_t done = 0;
  // A pipe that is ready takes PIPE_BUF bytes at once.
  while (done < output_.size() && ready(STDOUT_FILENO, POLLOUT)) {
    const ssize_t bytes =
        ::write(STDOUT_FILENO, output_.data() + done, std::min<std::size_t>(output_.size() - done, PIPE_BUF));
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    done = bytes <= 0 ? output_.size() : done + static_cast<std::size_t>(bytes);  // nobody reads it
  }
  output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(done));
  changed_.notify_all();
}

}  // namespace coracle::internals
