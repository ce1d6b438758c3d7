// Two loops, one per direction.
#include "transports/tcp/ready_stream.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace coracle::internals::tcp {

ReadyStream::ReadyStream(Io& io, Scope& scope, StreamUser& user, int fd) : io_(io), user_(user), fd_(fd) {
  running_ = 2;
  scope.spawn(receive_all(*this));
  scope.spawn(send_all(*this));
}

ReadyStream::~ReadyStream() {
  CORACLE_ASSERT(idle(), "a TCP stream ended while {} of its coroutines run", running_);
  ::close(fd_);
}

void ReadyStream::close(bool reset) noexcept {
  if (std::exchange(closed_, true)) return;
  if (reset) {
    const linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ::shutdown(fd_, SHUT_RDWR);  // both directions become ready
  output_.set();
  input_.set();
}

void ReadyStream::end(int error) noexcept {
  const bool news = !ended_ || (error != 0 && !failed_);
  ended_ = true;
  failed_ |= error != 0;
  if (news && !closed_) user_.ended(std::error_code(error, std::generic_category()));
}

// Both loops end when the stream is closed, also when their scope has been cancelled.

Task<> ReadyStream::receive_all(ReadyStream& stream) {
  try {
    co_await yield();  // until whoever makes the stream has it
    while (!stream.closed_ && !stream.ended_) {
      if (!stream.user_.wants_input()) {
        stream.input_.reset();
        co_await stream.input_;
        continue;
      }
      if (stream.receive_some())
        co_await yield();
      else if (!stream.ended_)
        co_await stream.io_.wait_readable(stream.fd_);
    }
  } catch (const Error&) {
    stream.end(ECANCELED);
  }
  --stream.running_;
}

Task<> ReadyStream::send_all(ReadyStream& stream) {
  try {
    while (!stream.closed_ && !stream.failed_) {
      stream.output_.reset();
      if (!stream.user_.outbox().empty()) {
        if (stream.send_some())
          co_await yield();
        else if (!stream.failed_)
          co_await stream.io_.wait_writable(stream.fd_);
        continue;
      }
      if (stream.user_.output_over() && !std::exchange(stream.output_shut_, true)) ::shutdown(stream.fd_, SHUT_WR);
      co_await stream.output_;
    }
  } catch (const Error&) {
    stream.end(ECANCELED);
  }
  --stream.running_;
}

bool ReadyStream::receive_some() noexcept {
  const std::span<std::byte> landing = user_.landing();
  const std::span<std::byte> place = landing.empty() ? std::span<std::byte>(buffer_) : landing;
  const ssize_t count = ::recv(fd_, place.data(), place.size(), MSG_DONTWAIT);
  if (count < 0 && may_pass(errno)) return false;
  if (count <= 0) {
    end(count == 0 ? 0 : errno);
    return false;
  }
  if (landing.empty())
    user_.received(place.first(static_cast<std::size_t>(count)));
  else
    user_.landed(static_cast<std::size_t>(count));
  if (!user_.outbox().empty()) output_.set();
  return true;
}

bool ReadyStream::send_some() noexcept {
  std::array<iovec, kVectors> vectors;
  const Outbox::Gathered gathered = user_.outbox().gather(vectors, kSendBytesMax);
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = gathered.count;
  const ssize_t count = ::sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0) {
    if (!may_pass(errno)) end(errno);
    return false;
  }
  user_.outbox().sent(static_cast<std::size_t>(count));
  user_.outbox().release(static_cast<std::size_t>(count));
  user_.drained();
  if (user_.wants_input()) input_.set();
  return true;
}

}  // namespace coracle::internals::tcp
