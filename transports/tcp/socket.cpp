// Addresses and options.
#include "transports/tcp/socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/core/error.hpp"

namespace coracle::internals::tcp {
namespace {

void set(int fd, int level, int option, int value) noexcept {
  ::setsockopt(fd, level, option, &value, sizeof value);  // each is an improvement, none a need
}

}  // namespace

SocketAddress socket_address(const NodeAddress& address, std::uint16_t port) noexcept {
  SocketAddress result;
  if (address.family == NodeAddress::Family::ipv6) {
    auto& place = reinterpret_cast<sockaddr_in6&>(result.storage);
    place.sin6_family = AF_INET6;
    place.sin6_port = htons(port);
    std::memcpy(&place.sin6_addr, address.bytes.data(), sizeof place.sin6_addr);
    place.sin6_scope_id = address.scope;
    result.bytes = sizeof place;
  } else {
    auto& place = reinterpret_cast<sockaddr_in&>(result.storage);
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    std::memcpy(&place.sin_addr, address.bytes.data(), sizeof place.sin_addr);
    result.bytes = sizeof place;
  }
  return result;
}

std::string to_string(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.storage.ss_family == AF_INET6) {
    const auto& place = reinterpret_cast<const sockaddr_in6&>(address.storage);
    ::inet_ntop(AF_INET6, &place.sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), ntohs(place.sin6_port));
  }
  const auto& place = reinterpret_cast<const sockaddr_in&>(address.storage);
  ::inet_ntop(AF_INET, &place.sin_addr, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), ntohs(place.sin_port));
}

int start_connect(const SocketAddress& address) noexcept {
  const int fd = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.bytes) == 0 || errno == EINPROGRESS)
    return fd;
  const int error = errno;
  ::close(fd);
  errno = error == EAGAIN ? EADDRNOTAVAIL : error;
  return -1;
}

bool has_source_towards(const SocketAddress& target) noexcept {
  // A datagram socket that is connected has found its way and its own address, and sent nothing yet.
  const int fd = ::socket(target.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return is_shortage(errno);
  const bool has =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&target.storage), target.bytes) == 0 || errno != EADDRNOTAVAIL;
  ::close(fd);
  return has;
}

int connect_error(int fd) noexcept {
  int error = 0;
  socklen_t bytes = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

int accept_next(int listen_fd, SocketAddress& from) noexcept {
  from.bytes = sizeof from.storage;
  return ::accept4(listen_fd, reinterpret_cast<sockaddr*>(&from.storage), &from.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void set_options(int fd, std::uint64_t silence_limit_ns, bool is_watched) noexcept {
  const auto limit_ms = static_cast<int>(std::clamp<std::uint64_t>(silence_limit_ns / 1'000'000, 1, 1U << 30));
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // What is sent and not acknowledged for so long ends the connection. But so would a full window: a peer that
  // computes, or a whole job that is stopped.
  if (!is_watched) set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, limit_ms);
  // And so does silence that probes don't end.
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, limit_ms / 2000));
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, limit_ms / 4000));
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
}

}  // namespace coracle::internals::tcp
