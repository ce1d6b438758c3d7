// Dual-stack sockets where the kernel has IPv6, others elsewhere.
#include "runtime/launch/listeners.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/core/error.hpp"
#include "runtime/core/shortage.hpp"
#include "runtime/launch/interfaces.hpp"

namespace coracle::internals {
namespace {

struct Place {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

Place ipv4_place(const std::uint8_t* address) {
  Place place;
  sockaddr_in inet{};
  inet.sin_family = AF_INET;
  if (address != nullptr) std::memcpy(&inet.sin_addr, address, sizeof inet.sin_addr);
  std::memcpy(&place.storage, &inet, sizeof inet);
  place.bytes = sizeof inet;
  return place;
}

Place ipv6_place(const std::uint8_t* address, std::uint32_t scope) {
  Place place;
  sockaddr_in6 inet{};
  inet.sin6_family = AF_INET6;
  inet.sin6_scope_id = scope;
  if (address != nullptr) std::memcpy(&inet.sin6_addr, address, sizeof inet.sin6_addr);
  std::memcpy(&place.storage, &inet, sizeof inet);
  place.bytes = sizeof inet;
  return place;
}

/// -1 with errno when it can't be had.
int bound_socket(int type, const Place& place) {
  const int family = place.storage.ss_family;
  const int fd = ::socket(family, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int both = 0;
  if (family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&place.storage), place.bytes) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

int bound_socket(int type, const NodeAddress& address) {
  switch (address.family) {
    case NodeAddress::Family::ipv4:
      return bound_socket(type, ipv4_place(address.bytes.data()));
    case NodeAddress::Family::ipv6:
      return bound_socket(type, ipv6_place(address.bytes.data(), address.scope));
    case NodeAddress::Family::none:
      break;
  }
  const int fd = bound_socket(type, ipv6_place(nullptr, 0));
  return fd >= 0 ? fd : bound_socket(type, ipv4_place(nullptr));
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
  const int fd = bound_socket(SOCK_STREAM, address);
  if (fd < 0) fail_to_open(errno, "can't open a socket for other nodes to connect to", address);
  if (::listen(fd, SOMAXCONN) != 0) {
    const int error = errno;
    ::close(fd);
    throw_errno(error, "can't listen for connections of other nodes");
  }
  return {fd, port_of(fd)};
}

OpenSocket open_datagram_socket(const NodeAddress& address) {
  const int fd = bound_socket(SOCK_DGRAM | SOCK_NONBLOCK, address);
  if (fd < 0) fail_to_open(errno, "can't open a socket for questions of other nodes", address);
  return {fd, port_of(fd)};
}

}  // namespace coracle::internals
