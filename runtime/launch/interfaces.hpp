// The addresses by which other machines may reach this one, what the nodes of a job tell each other of their networks
// before they open a socket, and where the ranks of a node listen, if the user does not say: at the one address by
// which all others reach it, so that nobody else's network can.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/directory.hpp"

namespace coracle::internals {

/// An address of a machine, and the network that it is in.
struct NodeInterface {
  NodeAddress address;
  std::uint32_t network_bits = 0;  ///< So many leading bits are the network's.
};

struct NodeInterfaces {
  std::uint64_t stack = 0;  ///< The same for nodes that share their addresses: a machine, or a network namespace.
  std::vector<NodeInterface> all;  ///< Best first; neither loopback nor link-local.
};

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

/// The local address from which this machine would send to another; of family `none` when there is no way.
using RouteTo = std::function<NodeAddress(const NodeAddress&)>;

/// The addresses of node `own`, of `nodes`, at which others shall look for it. One: all others reach it there. More:
/// none of them is reached by all, and it must listen at all. Throws Error when it has none.
std::vector<NodeAddress> listening_addresses(const std::vector<NodeInterfaces>& nodes, std::size_t own,
                                             const RouteTo& route);

/// For who asks where a node listens.
std::string describe_listening(const NodeRecord& record);

}  // namespace coracle::internals
