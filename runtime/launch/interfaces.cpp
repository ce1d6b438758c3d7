// getifaddrs, and what ssh leaves in the environment.
#include "runtime/launch/interfaces.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "runtime/error.hpp"
#include "runtime/key_tag.hpp"

namespace coracle {
namespace {

struct Interface {
  std::string name;
  NodeAddress address;
  bool loopback;
};

bool is_link_local(const NodeAddress& address) {
  return address.family == NodeAddress::Family::ipv6 && address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
}

NodeAddress address_of(const sockaddr* socket_address) {
  NodeAddress address;
  if (socket_address == nullptr) return address;
  if (socket_address->sa_family == AF_INET) {
    address.family = NodeAddress::Family::ipv4;
    std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in*>(socket_address)->sin_addr, 4);
  } else if (socket_address->sa_family == AF_INET6) {
    const auto* inet = reinterpret_cast<const sockaddr_in6*>(socket_address);
    address.family = NodeAddress::Family::ipv6;
    std::memcpy(address.bytes.data(), &inet->sin6_addr, 16);
    address.scope = is_link_local(address) ? inet->sin6_scope_id : 0;
  }
  return address;
}

/// Of interfaces that are up; those of IPv4 first.
std::vector<Interface> interfaces() {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) throw_errno(errno, "can't list the machine's network addresses");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(raw, ::freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* each = raw; each != nullptr; each = each->ifa_next) {
    const NodeAddress address = address_of(each->ifa_addr);
    if (address.family != NodeAddress::Family::none && (each->ifa_flags & IFF_UP) != 0)
      found.push_back({each->ifa_name, address, (each->ifa_flags & IFF_LOOPBACK) != 0});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Interface& a, const Interface& b) { return a.address.family < b.address.family; });
  return found;
}

bool same(const NodeAddress& a, const NodeAddress& b) {
  return a.family == b.family && a.bytes == b.bytes;
}

/// True when the first `bits` of both are the same.
bool in_network(const NodeAddress& address, const NodeAddress& network, unsigned bits) {
  if (address.family != network.family) return false;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned mask = 0x80U >> (bit % 8);
    if (((address.bytes[bit / 8] ^ network.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool fits(const Interface& interface, const std::string& wanted) {
  if (interface.name == wanted) return true;
  const std::size_t slash = wanted.find('/');
  const NodeAddress network = parse_address(std::string_view(wanted).substr(0, slash));
  if (network.family == NodeAddress::Family::none) return false;
  unsigned bits = network.family == NodeAddress::Family::ipv4 ? 32 : 128;
  if (slash != std::string::npos) {
    unsigned given = 0;
    const char* end = wanted.data() + wanted.size();
    const auto parsed = std::from_chars(wanted.data() + slash + 1, end, given);
    if (parsed.ec != std::errc() || parsed.ptr != end || given > bits) return false;
    bits = given;
  }
  return in_network(interface.address, network, bits);
}

std::vector<NodeAddress> chosen(const std::vector<Interface>& all, const std::string& wanted) {
  std::vector<NodeAddress> addresses;
  for (const Interface& each : all)
    if (wanted.empty() ? !each.loopback && !is_link_local(each.address) : fits(each, wanted))
      addresses.push_back(each.address);
  return addresses;
}

/// "client port server port": the server's address is the one by which this machine was reached.
NodeAddress address_of_ssh() {
  const char* variable = std::getenv("SSH_CONNECTION");
  std::string_view text = variable == nullptr ? "" : variable;
  for (int word = 0; word < 2; ++word) text.remove_prefix(std::min(text.size(), text.find(' ') + 1));
  return parse_address(text.substr(0, text.find(' ')));
}

}  // namespace

std::string to_string(const NodeAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  switch (address.family) {
    case NodeAddress::Family::none:
      return "none";
    case NodeAddress::Family::ipv4:
      return ::inet_ntop(AF_INET, address.bytes.data(), text.data(), text.size());
    case NodeAddress::Family::ipv6:
      break;
  }
  std::string result = ::inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size());
  return address.scope == 0 ? result : fmt::format("{}%{}", result, address.scope);
}

NodeAddress parse_address(std::string_view text) noexcept {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  NodeAddress address;
  if (text.size() >= buffer.size()) return address;
  text.copy(buffer.data(), text.size());
  if (::inet_pton(AF_INET, buffer.data(), address.bytes.data()) == 1)
    address.family = NodeAddress::Family::ipv4;
  else if (::inet_pton(AF_INET6, buffer.data(), address.bytes.data()) == 1)
    address.family = NodeAddress::Family::ipv6;
  return address;
}

std::vector<NodeAddress> machine_addresses(const std::string& wanted) {
  const std::vector<Interface> all = interfaces();
  std::vector<NodeAddress> addresses = chosen(all, wanted);
  const NodeAddress reached = address_of_ssh();
  std::stable_partition(addresses.begin(), addresses.end(),
                        [&](const NodeAddress& each) { return same(each, reached); });
  if (addresses.size() > NodeRecord::kAddressesMax) addresses.resize(NodeRecord::kAddressesMax);
  if (!addresses.empty()) return addresses;
  std::string list;
  for (const Interface& each : all)
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", to_string(each.address), each.name);
  throw Error(
      std::make_error_code(std::errc::address_not_available),
      fmt::format("{} has no address{} by which other nodes could reach it; there is {} (--interface chooses)",
                  host_name(), wanted.empty() ? "" : " that fits --interface " + wanted, list.empty() ? "none" : list));
}

NodeAddress loopback_address() noexcept {
  return parse_address("127.0.0.1");
}

std::uint64_t machine_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(file, line);
  if (line.empty()) line = host_name();
  return key_tag(std::as_bytes(std::span(line)), JobKey{});
}

std::string host_name() {
  std::array<char, 65> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this machine";
}

}  // namespace coracle
