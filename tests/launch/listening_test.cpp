// Where a node listens: at the one address by which all others reach it, if there is one.
#include "runtime/launch/interfaces.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/launch/listeners.hpp"

namespace coracle::internals::listening_test {
namespace {

using Networks = std::vector<std::pair<const char*, std::uint32_t>>;

NodeInterfaces node(std::uint64_t stack, const Networks& networks) {
  NodeInterfaces result{stack, {}};
  for (const auto& [address, bits] : networks) result.all.push_back({parse_address(address), bits});
  return result;
}

/// Of the addresses that node `own` chooses: one when all reach it there.
std::string chosen(const std::vector<NodeInterfaces>& nodes, std::size_t own, const char* route = "") {
  std::string text;
  const auto source = [&](const NodeAddress&) { return parse_address(route); };
  for (const NodeAddress& address : listening_addresses(nodes, own, source))
    text += fmt::format("{}{}", text.empty() ? "" : " ", to_string(address));
  return text;
}

}  // namespace

TEST_CASE("listening: at the address of the network that all nodes have in common, not at the first") {
  const std::vector<NodeInterfaces> nodes{node(1, {{"192.168.7.1", 24}, {"10.0.0.1", 8}}),
                                          node(2, {{"192.168.8.1", 24}, {"10.0.0.2", 8}}),
                                          node(3, {{"10.9.9.9", 8}, {"192.168.7.9", 24}})};
  CHECK(chosen(nodes, 0) == "10.0.0.1");
  CHECK(chosen(nodes, 1) == "10.0.0.2");
  CHECK(chosen(nodes, 2) == "10.9.9.9");
}

TEST_CASE("listening: at the best of several common networks") {
  const std::vector<NodeInterfaces> nodes{node(1, {{"10.2.0.1", 16}, {"10.1.0.1", 16}}),
                                          node(2, {{"10.1.0.2", 16}, {"10.2.0.2", 16}})};
  CHECK(chosen(nodes, 0) == "10.2.0.1");
  CHECK(chosen(nodes, 1) == "10.1.0.2");
}

TEST_CASE("listening: bridges that have the same address on every machine are no way to any") {
  const std::vector<NodeInterfaces> nodes{node(1, {{"172.17.0.1", 16}, {"10.0.0.1", 24}}),
                                          node(2, {{"172.17.0.1", 16}, {"10.0.0.2", 24}})};
  CHECK(chosen(nodes, 0) == "10.0.0.1");
  CHECK(chosen(nodes, 1) == "10.0.0.2");
}

TEST_CASE("listening: nodes that share a machine reach each other wherever they are") {
  const NodeInterfaces one = node(1, {{"10.0.0.1", 24}, {"10.5.0.1", 24}});
  CHECK(chosen({one, one}, 1) == "10.0.0.1");
  const std::vector<NodeInterfaces> nodes{one, one, node(2, {{"10.5.0.2", 24}})};
  CHECK(chosen(nodes, 0) == "10.5.0.1");
  CHECK(chosen(nodes, 2) == "10.5.0.2");
}

TEST_CASE("listening: across routers at the address by which the kernel leaves") {
  const std::vector<NodeInterfaces> nodes{node(1, {{"192.168.7.1", 24}, {"10.1.0.1", 24}}),
                                          node(2, {{"10.2.0.1", 24}})};
  CHECK(chosen(nodes, 0, "10.1.0.1") == "10.1.0.1");
}

TEST_CASE("listening: everywhere when no address is reached by all, and alone at none but its own") {
  const std::vector<NodeInterfaces> nodes{node(1, {{"10.1.0.1", 24}, {"10.2.0.1", 24}}), node(2, {{"10.1.0.2", 24}}),
                                          node(3, {{"10.2.0.3", 24}})};
  CHECK(chosen(nodes, 0) == "10.1.0.1 10.2.0.1");
  CHECK(chosen({nodes[0]}, 0) == "127.0.0.1");
  CHECK_THROWS_AS(chosen({node(1, {}), node(2, {{"10.1.0.2", 24}})}, 0), Error);
}

TEST_CASE("listening: IPv6 networks count as others do") {
  const std::vector<NodeInterfaces> nodes{node(1, {{"192.168.7.1", 24}, {"fd00:1::1", 64}}),
                                          node(2, {{"192.168.8.1", 24}, {"fd00:1::2", 64}})};
  CHECK(chosen(nodes, 0) == "fd00:1::1");
}

TEST_CASE("listening: what is told of it names the address, or all of them and how to choose") {
  NodeRecord record;
  record.addresses[0] = parse_address("10.0.0.1");
  CHECK(describe_listening(record) == "at 10.0.0.1");
  record.addresses[1] = parse_address("10.1.0.1");
  const std::string text = describe_listening(record);
  CHECK(text.find("at 10.0.0.1, 10.1.0.1, on all interfaces") == 0);
  CHECK(text.find("--interface") != std::string::npos);
}

TEST_CASE("interfaces: this machine's have networks, and none is loopback") {
  for (const NodeInterface& each : machine_interfaces().all) {
    CHECK(each.network_bits > 0);
    CHECK_FALSE(in_network(each.address, loopback_address(), 8));
  }
  CHECK(machine_interfaces().stack == machine_interfaces().stack);
}

TEST_CASE("listening: an address that this machine does not have is told as that, not as a lack of ports") {
  std::string text;
  try {
    open_listener(parse_address("192.0.2.1"));
  } catch (const Error& error) {
    CHECK(error.code() == std::errc::address_not_available);
    text = error.what();
  }
  CHECK_MESSAGE(text.find("this machine does not have the address 192.0.2.1, or no more: --interface chooses") !=
                    std::string::npos,
                text);
}

}  // namespace coracle::internals::listening_test
