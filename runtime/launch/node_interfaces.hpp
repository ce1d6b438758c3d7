// What the nodes of a job tell each other of their networks before they open a socket.
#pragma once

#include <cstdint>
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

}  // namespace coracle::internals
