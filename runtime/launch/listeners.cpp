// Dual-stack sockets where the kernel has IPv6, others elsewhere. Of questions: one datagram in, one out.
#include "runtime/launch/listeners.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/launch/interfaces.hpp"

namespace coracle::internals {
namespace {

/// None, with errno, when it can't be had.
FileDescriptor bound_to(int type, const NodeAddress& address) {
  SocketAddress place(address, 0);
  FileDescriptor socket(::socket(place.storage.ss_family, type | SOCK_CLOEXEC, 0));
  if (!socket) return socket;
  const int both = 0;
  if (address.family == NodeAddress::Family::ipv6)
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
  if (::bind(socket.get(), place.get(), place.bytes) != 0) socket.close();
  return socket;
}

FileDescriptor bound_socket(int type, const NodeAddress& address) {
  if (address.family != NodeAddress::Family::none) return bound_to(type, address);
  FileDescriptor socket = bound_to(type, NodeAddress{NodeAddress::Family::ipv6, {}, 0});
  return socket ? std::move(socket) : bound_to(type, NodeAddress{NodeAddress::Family::ipv4, {}, 0});
}

/// Of bind() to any port: where none is free the system says that it is in use.
[[noreturn]] void fail_to_open(int error, const char* what, const NodeAddress& address) {
  const std::string remedy =
      error == EADDRINUSE ? shortage_remedy(EADDRNOTAVAIL)
      : error == EADDRNOTAVAIL
          ? fmt::format("this machine does not have the address {}, or no more: --interface chooses",
                        to_string(address))
          : shortage_remedy(error);
  throw_errno(error, remedy.empty() ? what : fmt::format("{} ({})", what, remedy));
}

std::uint16_t port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &bytes);
  // The port lies at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

}  // namespace

OpenSocket open_listener(const NodeAddress& address) {
  FileDescriptor socket = bound_socket(SOCK_STREAM, address);
  if (!socket) fail_to_open(errno, "can't open a socket for other nodes to connect to", address);
  if (::listen(socket.get(), SOMAXCONN) != 0) throw_errno(errno, "can't listen for connections of other nodes");
  const std::uint16_t port = port_of(socket.get());
  return {std::move(socket), port};
}

OpenSocket open_datagram_socket(const NodeAddress& address) {
  FileDescriptor socket = bound_socket(SOCK_DGRAM | SOCK_NONBLOCK, address);
  if (!socket) fail_to_open(errno, "can't open a socket for questions of other nodes", address);
  const std::uint16_t port = port_of(socket.get());
  return {std::move(socket), port};
}

HealthResponder::HealthResponder(const NodeAddress& address, const JobKey& key)
    : socket_(open_datagram_socket(address)), key_(key) {}

Task<> HealthResponder::serve(Io& io, HealthSource& source) {
  for (;;) {
    co_await io.wait_readable(fd());
    answer_all(source);
  }
}

void HealthResponder::answer_all(HealthSource& source) noexcept {
  constexpr int kMost = 256;  // then others have their turn
  for (int i = 0; i < kMost; ++i) {
    std::array<std::byte, 2 * kHealthPingBytes> datagram;
    sockaddr_storage from{};
    socklen_t from_bytes = sizeof from;
    const ssize_t bytes =
        ::recvfrom(fd(), datagram.data(), datagram.size(), 0, reinterpret_cast<sockaddr*>(&from), &from_bytes);
    if (bytes < 0 && errno != EINTR) return;  // nothing more
    if (bytes < 0) continue;
    const auto ping = decode_health_ping(std::span(datagram).first(static_cast<std::size_t>(bytes)), key_);
    if (!ping) continue;
    HealthAnswer answer = source.health(ping->rank);
    answer.rank = ping->rank;
    answer.nonce = ping->nonce;
    const auto text = encode(answer, key_);
    // One that is lost is asked for again.
    ::sendto(fd(), text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&from), from_bytes);
  }
}

}  // namespace coracle::internals
