// The addresses by which other machines may reach this one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/directory.hpp"

namespace coracle {

/// "192.168.1.7", "fe80::1%2".
std::string to_string(const NodeAddress& address);
/// Nothing for any other text.
NodeAddress parse_address(std::string_view text) noexcept;

/// Best first, at most NodeRecord::kAddressesMax. `wanted`: name of an interface ("eth0"), or a network
/// ("192.168.1.0/24", also a single address) in which the address must lie; "": any but loopback, first the one by
/// which this program was reached through ssh. Throws Error, which says what there is, when nothing fits.
std::vector<NodeAddress> machine_addresses(const std::string& wanted);

NodeAddress loopback_address() noexcept;

/// The same number for all processes of one machine, also in different network namespaces.
std::uint64_t machine_number();

/// For messages.
std::string host_name();

}  // namespace coracle
