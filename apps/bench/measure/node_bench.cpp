// Connecting, and system calls only.
#include "apps/bench/measure/node_bench.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "transports/tcp/socket.hpp"

namespace coracle::internals::bench {
namespace {

using ShortAnswer = std::array<std::byte, 8>;

sockaddr* plain(tcp::SocketAddress& address) noexcept {
  return reinterpret_cast<sockaddr*>(&address.storage);
}

std::uint16_t port_of(const FileDescriptor& socket) {
  tcp::SocketAddress own;
  own.bytes = sizeof own.storage;
  if (::getsockname(socket.get(), plain(own), &own.bytes) != 0) throw_errno(errno, "can't ask for a socket's port");
  // The port lies at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in&>(own.storage).sin_port);
}

FileDescriptor listen_at(tcp::SocketAddress address) {
  FileDescriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::bind(socket.get(), plain(address), address.bytes) != 0 || ::listen(socket.get(), 1) != 0)
    throw_errno(errno, fmt::format("can't listen at {} for the limit of a benchmark", tcp::to_string(address)));
  return socket;
}

FileDescriptor connect_to(tcp::SocketAddress address) {
  FileDescriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), plain(address), address.bytes) != 0)
    throw_errno(errno, fmt::format("can't connect to {} for the limit of a benchmark", tcp::to_string(address)));
  return socket;
}

}  // namespace

Task<> PlainSockets::meet() {
  const NodeAddress& at = self_.core().region().node(self_.node_of(partner_)).addresses.front();
  const FileDescriptor listener = self_.id() == partner_ ? listen_at(tcp::socket_address(at, 0)) : FileDescriptor();
  std::uint16_t port = listener ? port_of(listener) : std::uint16_t{0};
  co_await self_.world().broadcast(std::span(&port, 1), partner_);
  co_await let_go_of_output();
  if (self_.id() == partner_) {
    socket_ = FileDescriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket_) throw_errno(errno, "can't accept the connection for the limit of a benchmark");
  } else if (self_.id() == 0) {
    socket_ = connect_to(tcp::socket_address(at, port));
  } else {
    co_return;
  }
  const int yes = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
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
    const ssize_t sent = ::send(socket_.get(), bytes.data(), std::min(bytes.size(), kWriteBytesMax), flags);
    if (sent > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    else if (errno != EAGAIN && errno != EINTR)
      fail("send");
  }
}

void PlainSockets::receive_all(std::span<std::byte> bytes, Wait wait) const {
  const int flags = wait == Wait::spinning ? MSG_DONTWAIT : 0;
  while (!bytes.empty()) {
    const ssize_t received = ::recv(socket_.get(), bytes.data(), bytes.size(), flags);
    if (received > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(received));
    else if (received == 0 || (errno != EAGAIN && errno != EINTR))
      fail("recv");
  }
}

void PlainSockets::fail(const char* what) const {
  throw_errno(errno, fmt::format("the limit of a benchmark failed ({})", what));
}

NodePair::NodePair(Rank& self)
    : self_(self), partner_(self.core().region().first_rank_of(1)), sockets_(self, partner_) {}

Contest::PlainBatch NodePair::round_trips(std::span<std::byte> out, std::span<std::byte> in,
                                          PlainSockets::Wait wait) const {
  return [=, this](std::uint64_t count) {
    if (asks())
      sockets_.ask(out, in, count, wait);
    else if (serves())
      sockets_.answer(out, in, count, wait);
  };
}

Contest::PlainBatch NodePair::stream(std::span<const std::byte> data, std::span<std::byte> place, bool forth,
                                     PlainSockets::Wait wait) const {
  return [=, this](std::uint64_t count) {
    if (!asks() && !serves()) return;
    if (asks() == forth)
      sockets_.stream(data, count, wait);
    else
      sockets_.receive(place, count, wait);
  };
}

std::string NodePair::title(const std::string& what) const {
  const std::string transport = self_.core().transport_to(peer()).name();
  const char* warning = transport == "verbs" ? " (of an emulated device no speed means anything)" : "";
  return fmt::format("{}; between nodes by {}, placement {}{}", what, transport, to_string(self_.placement()), warning);
}

}  // namespace coracle::internals::bench
