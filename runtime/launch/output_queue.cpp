// No more is written at once than a pipe that is ready takes.
#include "runtime/launch/output_queue.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "runtime/core/signal_text.hpp"

namespace coracle::internals {

namespace {

/// What one write takes: whole lines if it can be, since others may write there meanwhile.
std::span<const std::byte> next_piece(std::span<const std::byte> bytes) {
  const std::span<const std::byte> most = bytes.first(std::min<std::size_t>(bytes.size(), PIPE_BUF));
  const auto last_end = std::find(most.rbegin(), most.rend(), std::byte{'\n'});
  return last_end == most.rend() ? most : most.first(static_cast<std::size_t>(most.rend() - last_end));
}

}  // namespace

bool is_ready(int fd, short event) noexcept {
  pollfd wanted{fd, event, 0};
  return ::poll(&wanted, 1, 0) == 1;
}

void OutputQueue::write(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  write_some();
}

Task<> OutputQueue::serve(Io& io) {
  for (;;) {
    co_await changed_.wait([this] { return !bytes_.empty(); });
    co_await io.wait_writable(fd_);
    write_some();
  }
}

Task<> OutputQueue::room() {
  co_await changed_.wait([this] { return !full(); });
}

void OutputQueue::finish() {
  write_all(fd_, {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
  bytes_.clear();
}

void OutputQueue::write_some() {
  std::size_t done = 0;
  // A pipe that is ready takes PIPE_BUF bytes at once.
  while (done < bytes_.size() && is_ready(fd_, POLLOUT)) {
    const std::span<const std::byte> piece = next_piece(std::span(bytes_).subspan(done));
    const ssize_t bytes = ::write(fd_, piece.data(), piece.size());
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    is_read_ = bytes > 0;
    done = is_read_ ? done + static_cast<std::size_t>(bytes) : bytes_.size();
  }
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(done));
  changed_.notify_all();
}

}  // namespace coracle::internals
