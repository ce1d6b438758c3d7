// getifaddrs, and what ssh leaves in the environment; who reaches whom by networks that nodes have in common, and by
// the kernel's routes.
#include "runtime/launch/interfaces.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <system_error>

#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/job/directory.hpp"

namespace coracle::internals {
namespace {

struct Interface {
  std::string name;
  NodeAddress address;
  std::uint32_t network_bits;
  bool loopback;
};

std::uint32_t bits_of(const NodeAddress& mask) {
  std::uint32_t bits = 0;
  for (const std::uint8_t byte : mask.bytes) bits += static_cast<std::uint32_t>(std::popcount(byte));
  return bits;
}

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
      found.push_back(
          {each->ifa_name, address, bits_of(address_of(each->ifa_netmask)), (each->ifa_flags & IFF_LOOPBACK) != 0});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Interface& a, const Interface& b) { return a.address.family < b.address.family; });
  return found;
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

/// "client port server port": the server's address is the one by which this machine was reached.
NodeAddress address_of_ssh() {
  const char* variable = std::getenv("SSH_CONNECTION");
  std::string_view text = variable == nullptr ? "" : variable;
  for (int word = 0; word < 2; ++word) text.remove_prefix(std::min(text.size(), text.find(' ') + 1));
  return parse_address(text.substr(0, text.find(' ')));
}

bool has(const NodeInterfaces& node, const NodeAddress& address) {
  return std::any_of(node.all.begin(), node.all.end(),
                     [&](const NodeInterface& each) { return same_address(each.address, address); });
}

/// Bridges of containers and virtual machines have the same address on every machine: nobody is found there.
bool is_ambiguous(const std::vector<NodeInterfaces>& nodes, const NodeInterfaces& owner, const NodeAddress& address) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const NodeInterfaces& each) { return each.stack != owner.stack && has(each, address); });
}

/// Whether `other` reaches this node at `here`: by a network that both are in, or since what goes to `other` leaves
/// from there.
bool reaches(const std::vector<NodeInterfaces>& nodes, const NodeInterfaces& other, const NodeInterface& here,
             const RouteTo& route) {
  return std::any_of(other.all.begin(), other.all.end(), [&](const NodeInterface& there) {
    if (is_ambiguous(nodes, other, there.address)) return false;
    return in_network(there.address, here.address, here.network_bits) ||
           same_address(route(there.address), here.address);
  });
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

bool same_address(const NodeAddress& one, const NodeAddress& other) noexcept {
  return one.family == other.family && one.bytes == other.bytes;
}

bool in_network(const NodeAddress& address, const NodeAddress& network, unsigned bits) noexcept {
  if (address.family != network.family) return false;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned mask = 0x80U >> (bit % 8);
    if (((address.bytes[bit / 8] ^ network.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

NodeAddress machine_address(const std::string& wanted) {
  std::vector<NodeAddress> fitting;
  for (const Interface& each : interfaces())
    if (fits(each, wanted)) fitting.push_back(each.address);
  if (fitting.empty()) throw_no_address(wanted);
  const NodeAddress reached = address_of_ssh();
  const auto best = std::find_if(fitting.begin(), fitting.end(),
                                 [&](const NodeAddress& each) { return same_address(each, reached); });
  return best == fitting.end() ? fitting.front() : *best;
}

void throw_no_address(const std::string& wanted) {
  std::string list;
  for (const Interface& each : interfaces())
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", to_string(each.address), each.name);
  throw Error(
      std::make_error_code(std::errc::address_not_available),
      fmt::format("{} has no address{} by which other nodes could reach it; there is {} (--interface chooses)",
                  host_name(), wanted.empty() ? "" : " that fits --interface " + wanted, list.empty() ? "none" : list));
}

NodeInterfaces machine_interfaces() {
  constexpr std::size_t kMost = 64;
  NodeInterfaces result;
  for (const Interface& each : interfaces())
    if (!each.loopback && !is_link_local(each.address)) result.all.push_back({each.address, each.network_bits});
  const NodeAddress reached = address_of_ssh();
  std::stable_partition(result.all.begin(), result.all.end(),
                        [&](const NodeInterface& each) { return same_address(each.address, reached); });
  if (result.all.size() > kMost) result.all.resize(kMost);
  result.stack = machine_number();
  // Its inode: the same for all who are in that namespace.
  if (struct stat space{}; ::stat("/proc/self/ns/net", &space) == 0) result.stack ^= space.st_ino;
  return result;
}

SocketAddress::SocketAddress(const NodeAddress& address, std::uint16_t port) noexcept {
  if (address.family == NodeAddress::Family::ipv6) {
    sockaddr_in6 inet{};
    inet.sin6_family = AF_INET6;
    inet.sin6_port = htons(port);
    inet.sin6_scope_id = address.scope;
    std::memcpy(&inet.sin6_addr, address.bytes.data(), sizeof inet.sin6_addr);
    std::memcpy(&storage, &inet, bytes = sizeof inet);
  } else {
    sockaddr_in inet{};
    inet.sin_family = AF_INET;
    inet.sin_port = htons(port);
    std::memcpy(&inet.sin_addr, address.bytes.data(), sizeof inet.sin_addr);
    std::memcpy(&storage, &inet, bytes = sizeof inet);
  }
}

NodeAddress source_towards(const NodeAddress& target) noexcept {
  SocketAddress place(target, 9);  // any will do: a datagram socket that is connected has sent nothing yet
  const FileDescriptor socket(::socket(place.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), place.get(), place.bytes) != 0) return {};
  place.bytes = sizeof place.storage;
  return ::getsockname(socket.get(), place.get(), &place.bytes) == 0 ? address_of(place.get()) : NodeAddress();
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

std::vector<NodeAddress> listening_addresses(const std::vector<NodeInterfaces>& nodes, std::size_t own,
                                             const RouteTo& route) {
  const NodeInterfaces& self = nodes[own];
  if (nodes.size() == 1) return {loopback_address()};
  std::vector<NodeAddress> possible;
  for (const NodeInterface& here : self.all) {
    if (is_ambiguous(nodes, self, here.address)) continue;
    possible.push_back(here.address);
    const bool by_all = std::all_of(nodes.begin(), nodes.end(), [&](const NodeInterfaces& other) {
      return other.stack == self.stack || reaches(nodes, other, here, route);
    });
    if (by_all) return {here.address};
  }
  if (possible.empty()) throw_no_address("");
  if (possible.size() > NodeRecord::kAddressesMax) possible.resize(NodeRecord::kAddressesMax);
  return possible;
}

std::string describe_listening(const NodeRecord& record) {
  std::string list;
  std::size_t count = 0;
  for (const NodeAddress& address : record.addresses) {
    if (address.family == NodeAddress::Family::none) continue;
    list += fmt::format("{}{}", count++ == 0 ? "" : ", ", to_string(address));
  }
  if (count < 2) return "at " + list;
  return fmt::format("at {}, on all interfaces (no single one reaches all other nodes; --interface chooses one)", list);
}

}  // namespace coracle::internals
