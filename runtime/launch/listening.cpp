// By networks that nodes have in common, and by the kernel's routes.
#include "runtime/launch/listening.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "runtime/core/error.hpp"
#include "runtime/launch/interfaces.hpp"

namespace coracle::internals {
namespace {

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
