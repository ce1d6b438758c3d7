// Connecting, and system calls only.
#include "apps/bench/measure/node_bench.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/timer.hpp"
#include "runtime/job/job.hpp"
#include "transports/tcp/socket.hpp"

namespace coracle::internals::bench {
namespace {

using ShortAnswer = std::array<std::byte, 8>;

sockaddr* plain(tcp::SocketAddress& address) noexcept {
  return reinterpret_cast<sockaddr*>(&address.storage);
}

/// Closes what it holds, also when something is thrown.
struct OwnDescriptor {
  int fd;
  ~OwnDescriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::uint16_t port_of(int fd) {
  tcp::SocketAddress own;
  own.bytes = sizeof own.storage;
  if (::getsockname(fd, plain(own), &own.bytes) != 0) throw_errno(errno, "can't ask for a socket's port");
  // The port lies at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in&>(own.storage).sin_port);
}

int listen_at(tcp::SocketAddress address) {
  OwnDescriptor socket{::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (socket.fd < 0 || ::bind(socket.fd, plain(address), address.bytes) != 0 || ::listen(socket.fd, 1) != 0)
    throw_errno(errno, fmt::format("can't listen at {} for the limit of a benchmark", tcp::to_string(address)));
  return std::exchange(socket.fd, -1);
}

int connect_to(tcp::SocketAddress address) {
  OwnDescriptor socket{::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (socket.fd < 0 || ::connect(socket.fd, plain(address), address.bytes) != 0)
    throw_errno(errno, fmt::format("can't connect to {} for the limit of a benchmark", tcp::to_string(address)));
  return std::exchange(socket.fd, -1);
}

}  // namespace

Task<> let_go_of_output() {
  co_await sleep_for(std::chrono::milliseconds(1));
}

PlainSockets::~PlainSockets() {
  if (fd_ >= 0) ::close(fd_);
}

Task<> PlainSockets::meet() {
  const NodeAddress& at = self_.core().region().node(self_.node_of(partner_)).addresses.front();
  OwnDescriptor listener{self_.id() == partner_ ? listen_at(tcp::socket_address(at, 0)) : -1};
  std::uint16_t port = listener.fd >= 0 ? port_of(listener.fd) : std::uint16_t{0};
  co_await self_.world().broadcast(std::span(&port, 1), partner_);
  co_await let_go_of_output();
  if (self_.id() == partner_) {
    fd_ = ::accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd_ < 0) throw_errno(errno, "can't accept the connection for the limit of a benchmark");
  } else if (self_.id() == 0) {
    fd_ = connect_to(tcp::socket_address(at, port));
  } else {
    co_return;
  }
  const int yes = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void PlainSockets::ask(std::span<const std::byte> out, std::span<std::byte> in, std::uint64_t count, Wait wait) const {
  for (; count != 0; --count) {
    send_all(out, wait);
    receive_all(in, wait);
  }
}

void PlainSockets::answer(std::span<std::byte> in, std::span<const std::byte> out, std::uint64_t count,
                          Wait wait) const {
  for (; count != 0; --count) {
    receive_all(in, wait);
    send_all(out, wait);
  }
}

void PlainSockets::stream(std::span<const std::byte> data, std::uint64_t count, Wait wait) const {
  for (; count != 0; --count) send_all(data, wait);
  ShortAnswer end;
  receive_all(end, wait);
}

void PlainSockets::receive(std::span<std::byte> place, std::uint64_t count, Wait wait) const {
  for (; count != 0; --count) receive_all(place, wait);
  const ShortAnswer end{};
  send_all(end, wait);
}

void PlainSockets::send_all(std::span<const std::byte> bytes, Wait wait) const {
  const int flags = MSG_NOSIGNAL | (wait == Wait::spinning ? MSG_DONTWAIT : 0);
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), std::min(bytes.size(), kWriteBytesMax), flags);
    if (sent > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    else if (errno != EAGAIN && errno != EINTR)
      fail("send");
  }
}

void PlainSockets::receive_all(std::span<std::byte> bytes, Wait wait) const {
  const int flags = wait == Wait::spinning ? MSG_DONTWAIT : 0;
  while (!bytes.empty()) {
    const ssize_t received = ::recv(fd_, bytes.data(), bytes.size(), flags);
    if (received > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(received));
    else if (received == 0 || (errno != EAGAIN && errno != EINTR))
      fail("recv");
  }
}

void PlainSockets::fail(const char* what) const {
  throw_errno(errno, fmt::format("the limit of a benchmark failed ({})", what));
}

}  // namespace coracle::internals::bench
