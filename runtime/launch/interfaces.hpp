// The addresses by which other machines may reach this one.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/directory.hpp"
#include "runtime/launch/node_interfaces.hpp"

namespace coracle::internals {

/// "192.168.1.7", "fe80::1%2".
std::string to_string(const NodeAddress& address);
/// Nothing for any other text.
NodeAddress parse_address(std::string_view text) noexcept;

/// As system calls want it. Of zeros: of any address.
struct SocketAddress {
  SocketAddress(const NodeAddress& address, std::uint16_t port) noexcept;
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }

  sockaddr_storage storage{};
  socklen_t bytes;
};

bool same_address(const NodeAddress& one, const NodeAddress& other) noexcept;
/// True when the first `bits` of both are the same.
bool in_network(const NodeAddress& address, const NodeAddress& network, unsigned bits) noexcept;

/// The best address that fits `wanted`: name of an interface ("eth0"), or a network ("192.168.1.0/24", also a single
/// address) in which the address must lie. Throws Error, which says what there is, when nothing fits.
NodeAddress machine_address(const std::string& wanted);
/// The error of which that speaks; `wanted` may be "".
[[noreturn]] void throw_no_address(const std::string& wanted);

/// All addresses but loopback; first the one by which this program was reached through ssh.
NodeInterfaces machine_interfaces();

/// The local address from which this machine would send to `target`, as the kernel routes; `none` when it can't.
NodeAddress source_towards(const NodeAddress& target) noexcept;

NodeAddress loopback_address() noexcept;

/// The same number for all processes of one machine, also in different network namespaces.
std::uint64_t machine_number();

/// For messages.
std::string host_name();

}  // namespace coracle::internals
