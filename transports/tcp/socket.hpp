// Socket: system calls on sockets, with the options that every connection of a job has.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "runtime/job/directory.hpp"

namespace coracle::internals::tcp {

/// An address with its port.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

SocketAddress socket_address(const NodeAddress& address, std::uint16_t port) noexcept;
/// "10.0.0.7:4242".
std::string to_string(const SocketAddress& address);

/// A socket that does not block, on its way to being connected; -1 with errno: EADDRNOTAVAIL also where the system says
/// EAGAIN when no port is free.
int start_connect(const SocketAddress& address) noexcept;
/// Of a connection that failed with EADDRNOTAVAIL: whether this machine has an address from which it could be made, so
/// that it was a port that was missing.
bool has_source_towards(const SocketAddress& target) noexcept;
/// 0, or why the connection could not be made. Call once it is writable.
int connect_error(int fd) noexcept;
/// The next waiting connection; -1 with errno.
int accept_next(int listen_fd, SocketAddress& from) noexcept;
/// No delay for short frames; an end to connections whose peer's machine no longer answers. `is_watched`: somebody asks
/// after a silent peer (Watchdog), so that TCP need not judge by how long it takes to be rid of what was sent.
void set_options(int fd, std::uint64_t silence_limit_ns, bool is_watched) noexcept;

}  // namespace coracle::internals::tcp
